"""The parser of commands: help in levels, and errors that name the command and suggest what was meant."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import Any, NoReturn

from rankwise.core.text import printable

ALL = "all"


class HelpText(str):
    """The help of an option, and the levels of help that show it besides `--help all`."""

    is_common: bool
    by_method: Mapping[str, str]


def common(text: str, methods: Iterable[str] = ()) -> HelpText:
    """Return the help of an option that `--help` shows, and `--help METHOD` for some methods."""
    return _help_text(text, True, methods)


def special(text: str, methods: Iterable[str]) -> HelpText:
    """Return the help of an option that `--help METHOD` shows for some methods, but not `--help`.

    A mapping of methods has the help for each.
    """
    return _help_text(text, False, methods)


def _help_text(text: str, is_common: bool, methods: Iterable[str]) -> HelpText:
    found = HelpText(text)
    found.is_common = is_common
    found.by_method = methods if isinstance(methods, Mapping) else dict.fromkeys(methods, text)
    return found


def is_common(action: argparse.Action) -> bool:
    """Return whether `--help` shows an argument: it is required, or declared as common."""
    return action.required or getattr(action.help, "is_common", False)


def by_method(action: argparse.Action) -> Mapping[str, str]:
    """Return the methods whose help shows an argument, each with its text."""
    found: Mapping[str, str] = getattr(action.help, "by_method", {})
    return found


def of_method(action: argparse.Action, method: str) -> argparse.Action:
    """Return an argument with its help for a method."""
    found = copy(action)
    found.help = by_method(action)[method]
    return found


class Help(argparse.Action):
    """The option --help, which may name a level."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Print the help and exit."""
        print(parser.help_at(values or None), end="")
        parser.exit()


class Parser(argparse.ArgumentParser):
    """A parser with help in levels, whose errors may name files."""

    has_levels = False

    def add_help_option(self, levels: str = "") -> None:
        """Add --help; `levels` is the metavar of its value, empty if all options are common."""
        self.has_levels = bool(levels)
        text = "show this help and exit"
        how: dict[str, Any] = {"nargs": "?", "metavar": levels} if levels else {"nargs": 0}
        self.add_argument(
            "-h", "--help", action=Help, dest=argparse.SUPPRESS, default=argparse.SUPPRESS,
            help=common(text), **how,
        )  # fmt: skip

    def methods(self) -> list[str]:
        """Return the methods that have a level of help."""
        return sorted({method for action in self._actions for method in by_method(action)})

    def help_at(self, level: str | None = None) -> str:
        """Return the help: the common options, those of a method, or all."""
        if not self.has_levels or level == ALL:
            return self._help(lambda actions: actions, self.description, self.epilog)
        methods = self.methods()
        if level is None:
            of_all = f"all options: {self.prog} --help {ALL}"
            of_each = f"options of a method: {self.prog} --help METHOD, one of\n  {', '.join(methods)}\n"
            end = of_each + of_all if methods else of_all
            return self._help(
                lambda actions: [one for one in actions if is_common(one)], self.description, end
            )
        if level not in methods:
            self.error(f"--help takes {', '.join([*methods, ALL])}; got {level!r}")
        title = f"Options of --method {level}, besides the common ones of {self.prog} --help."
        return self._help(
            lambda actions: [of_method(one, level) for one in actions if level in by_method(one)], title, None
        )

    def _help(
        self,
        shown: Callable[[list[argparse.Action]], list[argparse.Action]],
        description: str | None,
        epilog: str | None,
    ) -> str:
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(description)
        for group in self._action_groups:
            if actions := shown(group._group_actions):
                formatter.start_section(group.title)
                formatter.add_text(group.description)
                formatter.add_arguments(actions)
                formatter.end_section()
        formatter.add_text(epilog)
        return formatter.format_help()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; refuse unknown arguments here, so that the error is that of their command.

        Unknown options come first, as a required one may be missing because it is mistyped.
        """
        if self._subparsers is None:
            for word in itertools.takewhile(lambda word: word != "--", args or ()):
                self._check_option(word)
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self._check_option(unknown[0])
            self.error(f"unexpected argument {unknown[0]!r}")
        return found, unknown

    def _check_option(self, word: str) -> None:
        name = word.partition("=")[0]
        known = [option for action in self._actions for option in action.option_strings]
        if name.startswith("--") and name not in known:
            self.error(f"{name!r} is no option of {self.prog}{did_you_mean(name, known)}")

    def error(self, message: str) -> NoReturn:
        """Print the usage and the message, and exit with 2."""
        super().error(printable(message))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the end of a sentence that suggests a known command or option, empty if none is similar.

    Examples
    --------
    >>> did_you_mean("trian", ["train", "rank"]), did_you_mean("fit", ["train", "rank"])
    ("; did you mean 'train'?", '')
    """
    from difflib import get_close_matches

    names = {name.lstrip("-"): name for name in known}
    found = get_close_matches(word.lstrip("-"), names, 1)
    return f"; did you mean {names[found[0]]!r}?" if found else ""
