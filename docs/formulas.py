"""Formulas that stand in docstrings as plain text, such as alpha ||f||^2, set as mathematics for the pages.

    formula  = term {operator term}
    term     = factor {factor}                            m log m
    factor   = base ["^" exponent]
    base     = number | variable | name "(" arguments ")"
             | "(" formula ")" | "[" formula "]" | "|" formula "|" | "||" formula "||"

What does not read as a formula from its first to its last character is prose, and stays as it is. So does a
part of a longer formula that cannot be read.
"""

import re

TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<number>\d+(?:\.\d+)?)|(?P<word>[A-Za-z]+(?:_\w+)?)|(?P<sign>\|\||[<>]=|\.\.\.|.)"
)
GREEK = {"alpha", "beta", "gamma", "lambda", "nu", "epsilon"}
NAMED = {"exp": r"\exp", "log": r"\log", "max": r"\max", "min": r"\min", "l": r"\ell"}
FUNCTIONS = {*NAMED, "f", "g", "loss", "sum", "C", "E", "G", "O", "P", "U"}
OPERATORS = {sign: sign for sign in "+-/=<>"} | {"*": r"\cdot", "<=": r"\le", ">=": r"\ge"}
INDICES = {"better", "worse", "winner", "loser"}
CLOSING = {"(": ")", "[": "]", "|": "|", "||": "||"}
BRACKETS = {
    "||": (r"\lVert ", r" \rVert"),
    "|": (r"\lvert ", r" \rvert"),
    "(": ("(", ")"),
    "[": ("[", "]"),
}
# An operator before or after a formula joins it to something that was not read; a right side is whole.
JOINING = {"/", "*", "=", "+", "<", ">", "<=", ">="}
# Code, sessions, and parameters with their types are no formulas.
KEPT = re.compile(
    r"(``.*?``|`[^`]*`|^[ \t]*>>>.*?(?:\n[ \t]*\n|\Z)|^[ \t]*[*\w][^\n`]* : [^\n]*)", re.DOTALL | re.MULTILINE
)
# A single number or letter is no formula yet; one of these makes it one.
TELLING = re.compile(r"\^|\\l[Vv]ert|\w\(|\\(exp|log|max|ell)|_|=|\\[lg]e ")


class UnreadError(Exception):
    """What stands here is no formula."""


def set_formulas(text):
    """Return a docstring with the formulas of its prose as roles: alpha m^2 as :math:`\\alpha m^{2}`."""
    parts = KEPT.split(text)
    return "".join(part if k % 2 else set_in_prose(part) for k, part in enumerate(parts))


def set_in_prose(prose):
    """Return prose with the longest formula from each place on, from left to right, as a role."""
    tokens = [(match.lastgroup, match[0]) for match in TOKEN.finditer(prose)]
    found, place = [], 0
    while place < len(tokens):
        reader = Reader(tokens, place)
        written = reader.read_or_none()
        is_telling = written and TELLING.search(written) and not reader.touches_a_word()
        if is_telling and reader.is_a_part():
            found += [text for _, text in tokens[place : reader.place]]
            place = reader.place
        elif is_telling:
            found.append(f":math:`{written}`")
            place = reader.place
        else:
            found.append(tokens[place][1])
            place += 1
    return "".join(found)


class Reader:
    """Reads one formula from the tokens at a place on, and writes it as TeX."""

    def __init__(self, tokens, place):
        self.tokens, self.start, self.place, self.depth = tokens, place, place, 0

    def read_or_none(self):
        """Return the formula that begins here, or None."""
        try:
            return self.formula()
        except UnreadError:
            return None

    def touches_a_word(self):
        """Return whether the formula is a part of something longer: a name, or a range."""
        kind, before = self.tokens[self.start - 1] if self.start else ("space", " ")
        after, follows = self.peek(), self.peek(1)[1]
        names = ("word", "number")
        is_range = after[1] == follows == "."
        is_joined = kind in names or after[0] in names or before in "'-_./+\")" or after[1] in "'\"^_(["
        return is_range or is_joined

    def is_a_part(self):
        """Return whether an operator joins the formula to something before or after it."""
        before = [text for kind, text in self.tokens[max(0, self.start - 2) : self.start] if kind != "space"]
        after = [text for kind, text in self.tokens[self.place : self.place + 2] if kind != "space"]
        return bool(JOINING.difference("=").intersection(before[-1:]) or JOINING.intersection(after[:1]))

    def peek(self, ahead=0):
        """Return the kind and the text of a token that comes."""
        return self.tokens[self.place + ahead] if self.place + ahead < len(self.tokens) else ("end", "\n\n")

    def take(self, text):
        """Read one token that must be this."""
        if self.peek()[1] != text:
            raise UnreadError
        self.place += 1

    def space(self, lines=1):
        """Read space that begins at most n lines."""
        kind, text = self.peek()
        if kind == "space" and text.count("\n") <= lines:
            self.place += 1

    def formula(self):
        """Read terms and the operators between them."""
        written = self.signed_term()
        while True:
            place = self.place
            self.space()
            operator = OPERATORS.get(self.peek()[1])
            try:
                if operator is None:
                    raise UnreadError
                self.place += 1
                self.space()
                written += f" {operator} {self.signed_term()}"
            except UnreadError:
                self.place = place
                return written

    def signed_term(self):
        """Read a term, inside of brackets also one with a minus before it."""
        if self.depth and self.peek()[1] == "-":
            self.place += 1
            return "-" + self.term()
        return self.term()

    def term(self):
        """Read factors that stand beside one another."""
        written = self.factor()
        while True:
            place = self.place
            self.space(lines=self.depth)
            try:
                if place == self.place:
                    raise UnreadError
                written += " " + self.factor()
            except UnreadError:
                self.place = place
                return written

    def factor(self):
        """Read what may have an index and be raised to a power."""
        written = self.base()
        if self.peek()[1] == "_" and self.peek(1)[0] == "word":
            written += f"_{{{self.peek(1)[1]}}}"
            self.place += 2
        if self.peek()[1] != "^":
            return written
        self.place += 1
        sign = "-" if self.peek()[1] == "-" else ""
        self.place += len(sign)
        kind, text = self.peek()
        if kind not in ("number", "word"):
            raise UnreadError
        self.place += 1
        return f"{written}^{{{sign}{text}}}"

    def base(self):
        """Read a number, a variable, a call or something in brackets."""
        kind, text = self.peek()
        if kind == "number":
            self.place += 1
            return text
        if kind == "word":
            return self.word(text)
        if text == "...":
            self.place += 1
            return r"\dots"
        if text in BRACKETS:
            return self.bracket(text)
        raise UnreadError

    def word(self, text):
        """Read a variable or a call."""
        follows = self.peek(1)[1]
        if text.partition("_")[0] in FUNCTIONS and follows == "(":
            self.place += 1
            name = variable(text) if len(text.partition("_")[0]) == 1 else rf"\operatorname{{{text}}}"
            return NAMED.get(text, name) + self.bracket("(", in_words=True)
        if text == "sqrt" and follows == "(":
            self.place += 1
            return rf"\sqrt{{{self.bracket('(')[1:-1]}}}"
        if text == "log" and self.peek(1)[0] == "space":
            self.place += 2
            return rf"\log {self.base()}"
        if text == "sum" and self.peek(2)[1] in ("|", "||"):
            self.place += 2
            return rf"\sum {self.base()}"
        if follows == "^" or is_variable(text, self.depth):
            self.place += 1
            return variable(text)
        raise UnreadError

    def bracket(self, opening, in_words=False):
        """Read a formula in brackets; in those of a function and of a norm there may be words."""
        self.take(opening)
        self.depth += 1
        place = self.place
        try:
            written = self.formula()
            while opening == "(" and self.peek()[1] == ",":
                self.place += 1
                self.space()
                written += ", " + self.formula()
            self.take(CLOSING[opening])
        except UnreadError:
            if not (in_words or opening == "||"):
                raise
            self.place = place
            written = self.words(CLOSING[opening])
        self.depth -= 1
        left, right = BRACKETS[opening]
        return left + written + right

    def words(self, closing):
        """Read some words, as in P(a above b) and P(rank <= k)."""
        read = []
        while self.peek()[1] != closing:
            kind, text = self.peek()
            operator = OPERATORS.get(text)
            if not (operator or kind in ("word", "space")) or len(read) > 6:
                raise UnreadError
            read.append(rf"}}{operator}\text{{" if operator else " " if kind == "space" else text)
            self.place += 1
        self.place += 1
        return rf"\text{{{''.join(read)}}}"


def is_variable(text, depth):
    """Return whether a word is a letter of mathematics; outside of brackets, a and I are words."""
    letter, _, index = text.partition("_")
    if depth == 0 and text in ("a", "A", "I"):
        return False
    is_letter = len(letter) == 1 or letter in GREEK
    return text in {"nnz", "margin"} or (is_letter and (len(index) <= 2 or index in INDICES))


def variable(text):
    """Return a variable with its index as TeX."""
    letter, _, index = text.partition("_")
    written = f"\\{letter}" if letter in GREEK else letter if len(letter) == 1 else rf"\text{{{letter}}}"
    if not index:
        return written
    return written + (rf"_{{\text{{{index}}}}}" if index in INDICES else f"_{{{index}}}")
