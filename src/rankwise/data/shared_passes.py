"""Fits that run at the same time and share passes over rows that are costly to read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Thread, current_thread
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise.data.design import Design


class _Request(NamedTuple):
    """A product that a task waits for; the answer is its result, or an exception."""

    task: int
    product: str
    argument: Any


class SharedPasses:
    """A design for several tasks: one pass over the rows answers what all of them ask for.

    Each task runs in a thread. When all of them wait for a product, the calling thread computes those with X
    in one pass, and those with X' in another. Outside of `run`, products are computed at once.

    Parameters
    ----------
    design : Design
        Its `matvecs`, `rmatvecs` and `weighted_spreads` should take one pass each. Rows of another kind have
        products of their own: methods that take a list with the argument of each task.

    Examples
    --------
    >>> from rankwise.data.design import as_design
    >>> shared = SharedPasses(as_design(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])))
    >>> first, last = shared.part(np.array([0, 1])), shared.part(np.array([2]))
    >>> shared.run([lambda part=part: part.matvec(np.array([1.0, 10.0])) for part in (first, last)])
    [array([21., 43.]), array([65.])]
    """

    def __init__(self, design: Any):
        self.design = design
        self._asked: SimpleQueue[Any] = SimpleQueue()
        self._running: dict[Thread, tuple[int, SimpleQueue[Any]]] = {}

    def part(self, rows: NDArray[np.int64]) -> Any:
        """Return some of the rows, as a mask of all."""
        return DesignPart(self, self.design, rows)

    def product(self, name: str, argument: Any) -> Any:
        """Return a product with all rows for one vector; `name` is that of a method of the design."""
        running = self._running.get(current_thread())
        if running is None:
            return self._computed(name, [argument])[0]
        number, answers = running
        self._asked.put(_Request(number, name, argument))
        answer = answers.get()
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def run(self, tasks: Sequence[Callable[[], Any]]) -> list[Any]:
        """Run tasks at the same time, and return their results.

        An error or Ctrl-C ends the other tasks at their next product, and is raised when all have ended.
        """
        results: dict[int, Any] = {}
        inboxes: list[SimpleQueue[Any]] = [SimpleQueue() for _ in tasks]
        threads = [Thread(target=self._run_one, args=(k, task), daemon=True) for k, task in enumerate(tasks)]
        self._running = dict(zip(threads, enumerate(inboxes), strict=True))
        for thread in threads:
            thread.start()
        failure: BaseException | None = None
        while len(results) < len(tasks):
            waiting: list[_Request] = []
            while len(waiting) + len(results) < len(tasks):
                try:
                    message = self._asked.get()
                except KeyboardInterrupt as interrupt:
                    failure = interrupt
                    continue
                if isinstance(message, _Request):
                    waiting.append(message)
                else:
                    number, results[number], error = message
                    failure = failure or error
            failure = self._answer(waiting, inboxes, failure)
        self._running = {}
        if failure is not None:
            raise failure
        return [results[k] for k in range(len(tasks))]

    def _run_one(self, number: int, task: Callable[[], Any]) -> None:
        result, error = None, None
        try:
            result = task()
        except BaseException as raised:
            error = raised
        self._asked.put((number, result, error))

    def _answer(
        self, waiting: list[_Request], inboxes: list[SimpleQueue[Any]], failure: BaseException | None
    ) -> BaseException | None:
        """Answer requests, by the failure if there is one; return the failure."""
        answers: dict[int, Any] = {}
        asked: dict[str, dict[int, Any]] = {}
        for request in sorted(waiting, key=lambda request: request.task):
            asked.setdefault(request.product, {})[request.task] = request.argument
        try:
            for name, arguments in asked.items() if failure is None else ():
                found = self._computed(name, list(arguments.values()))
                answers.update(zip(arguments, found, strict=True))
        except BaseException as raised:
            failure = raised
        for request in waiting:
            inboxes[request.task].put(answers.get(request.task, failure))
        return failure

    def _computed(self, name: str, arguments: list[Any]) -> Any:
        vectors = isinstance(arguments[0], np.ndarray)
        return getattr(self.design, name)(np.stack(arguments) if vectors else arguments)


class DesignPart(Design):
    """Some of the rows of a design: products are those of all rows, with zeros for the others.

    No rows are copied, and passes are shared with other parts.
    """

    def __init__(self, shared: SharedPasses, whole: Design, rows: NDArray[np.int64]):
        super().__init__((len(rows), whole.shape[1]))
        self._shared, self._whole, self._rows = shared, whole, rows
        self.location, self.log = whole.location, whole.log
        self._size = whole.precision.size

    @property
    def stored(self) -> int:
        """The number of entries that a product reads."""
        return self._whole.stored

    def _product(self, name: str, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a product with all rows."""
        return self._shared.product(name, vector)

    def _of_all_rows(self, c: NDArray[np.float64]) -> NDArray[np.float64]:
        found = np.zeros((self._whole.shape[0], *c.shape[1:]))
        found[self._rows] = c
        return found

    def _matvec(self, w: NDArray) -> NDArray[np.float64]:
        return self._product("matvecs", np.asarray(w, dtype=np.float64))[self._rows]

    def _rmatvec(self, c: NDArray) -> NDArray[np.float64]:
        return self._product("rmatvecs", self._of_all_rows(c))

    def matvecs(self, W: NDArray) -> NDArray[np.float64]:
        """Return X w for each row w of W, from one pass."""
        return self._whole.matvecs(W)[:, self._rows]

    def weighted_squares(self, c: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum over rows of c_i x_ij^2 for each column j."""
        return self._whole.weighted_squares(self._of_all_rows(c))

    def weighted_spread(self, c: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weighted spread of each column."""
        return self._product("weighted_spreads", self._of_all_rows(c))

    def column_scale(self) -> NDArray[np.float64]:
        """Return the largest absolute value of each column, over the rows of all parts."""
        return self._size

    def normal_equations(self, loss: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return X'L X and X'r of least squares, from a copy of the rows where they are."""
        copied = self._whole.take(self._rows)
        return super().normal_equations(loss) if copied is None else copied.normal_equations(loss)
