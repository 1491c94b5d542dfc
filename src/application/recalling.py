"""Recall: what Honcho knows of a user, as text to put before a model."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass

from honcho_memory.application.requests import Pending, Requests
from honcho_memory.domain.errors import HonchoRequestError, HonchoUnavailable
from honcho_memory.domain.identity import User
from honcho_memory.domain.recall import Answer, injection_text
from honcho_memory.domain.results import Outcome, Recall
from honcho_memory.domain.text import defuse_control_tokens, repair
from honcho_memory.ports.clock import Clock
from honcho_memory.ports.honcho import MemoryReads

logger = logging.getLogger("honcho_memory")

REMEMBERED_ANSWERS = 1_000
"""How many answers are kept in memory."""
KEPT_PER_BUDGET = 10
"""An answer is kept to so many times what is shown of it, so that no server can fill the memory."""
LONGEST_QUERY = 4_000
"""In characters; the server embeds the query, and its model takes no more."""

_Question = tuple[User, str]


@dataclass(frozen=True, slots=True)
class RecallRules:
    """How a recall is made; times in seconds.

    Attributes:
        deadline: The total time that a read may take.
        fresh: How long an answer is served without asking again.
        stale_if_error: How old an answer may be that is served when Honcho cannot be asked.
        max_conclusions: 1 to 100.
        peer_card: Whether the peer card is part of it.
        budget: Of the text, in characters.
    """

    deadline: float = 4.0
    fresh: float = 30.0
    stale_if_error: float = 86_400.0
    max_conclusions: int = 25
    peer_card: bool = True
    budget: int = 6_000


@dataclass(frozen=True, slots=True)
class _Kept:
    answer: Answer
    at: float


class Recalling:
    """Recalls, and keeps the raw answers for a while, in memory only."""

    def __init__(
        self, rules: RecallRules, honcho: MemoryReads, requests: Requests, clock: Clock
    ) -> None:
        self._rules = rules
        self._honcho = honcho
        self._requests = requests
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Question, _Kept] = OrderedDict()
        self._asking: dict[_Question, Future[Answer]] = {}

    def recall(self, user: User, query: str | None = None) -> Recall:
        """What is known of a user, as text to put before a model.

        Args:
            user: Who.
            query: Mixes in what is near this text.

        Raises:
            HonchoRequestError: Honcho could not be asked, and no answer is young enough.
        """
        answer, outcome, error = self._answer(user, query)
        return Recall(injection_text(answer, budget=self._rules.budget), outcome, error)

    def answer(self, user: User) -> Answer:
        """The same, as Honcho said it."""
        answer, _, _ = self._answer(user)
        return answer

    def _answer(
        self, user: User, query: str | None = None
    ) -> tuple[Answer, Outcome, HonchoRequestError | None]:
        question = (user, clean_query(query or ""))
        with self._lock:
            kept = self._kept.get(question)
        if kept and self._age(kept) < self._rules.fresh:
            return kept.answer, Outcome.FRESH, None
        try:
            return self._ask_once(question), Outcome.COLD, None
        except HonchoRequestError as error:
            kept = self._stand_in(question)
            if kept and self._age(kept) < self._rules.stale_if_error:
                logger.debug("an answer of %.0f s ago stands in for Honcho's", self._age(kept))
                return kept.answer, Outcome.STALE, error
            raise

    def forget(self, user: User) -> None:
        """Drop what is kept of a user, because it has changed."""
        with self._lock:
            self._drop(user)
            # An answer that is under way was asked for before the change.
            for question in [known for known in self._asking if known[0] == user]:
                del self._asking[question]

    def _drop(self, user: User) -> None:
        """Under the lock."""
        for question in [known for known in self._kept if known[0] == user]:
            del self._kept[question]

    def _stand_in(self, question: _Question) -> _Kept | None:
        """The last answer to this question, else the newest of what is known of the user."""
        with self._lock:
            of_user = [kept for known, kept in self._kept.items() if known[0] == question[0]]
            newest = max(of_user, key=lambda kept: kept.at, default=None)
            return self._kept.get(question, newest)

    def _age(self, kept: _Kept) -> float:
        return self._clock.monotonic() - kept.at

    def _ask_once(self, question: _Question) -> Answer:
        """Ask, or wait for the answer that somebody else has asked for."""
        with self._lock:
            asked = self._asking.get(question)
            own = asked or self._asking.setdefault(question, Future())
        if asked is not None:
            try:
                return asked.result(timeout=self._rules.deadline)
            except FutureTimeout:
                raise HonchoUnavailable("Honcho did not answer in time") from None
        try:
            answer = self._ask(question)
        except BaseException as error:
            self._finish(question, own, None)
            own.set_exception(error)
            raise
        self._finish(question, own, answer)
        own.set_result(answer)
        return answer

    def _finish(self, question: _Question, own: Future[Answer], answer: Answer | None) -> None:
        """Stop asking; keep the answer, unless what it says was changed meanwhile."""
        with self._lock:
            if self._asking.get(question) is not own:
                return
            del self._asking[question]
            # An empty answer is never kept: what is said next may change it any moment, and a
            # host may freeze what it got for the life of a thread.
            if answer:
                self._kept[question] = _Kept(answer, self._clock.monotonic())
                self._kept.move_to_end(question)
                while len(self._kept) > REMEMBERED_ANSWERS:
                    self._kept.popitem(last=False)
            elif answer is not None:
                self._drop(question[0])  # forgotten, by another process perhaps

    def _ask(self, question: _Question) -> Answer:
        """Representation and card side by side; the card alone does not cost the recall.

        A card that cannot be had is the one of last time. Without either, nothing is known but
        that something is missing.
        """
        user, query = question
        rules = self._rules
        representation = self._requests.start(
            lambda timeout: self._honcho.representation(
                user.workspace,
                user.peer,
                max_conclusions=rules.max_conclusions,
                query=query or None,
                timeout=timeout,
            ),
            timeout=rules.deadline,
        )
        try:
            card = self._start_card(user, representation).result() if rules.peer_card else ()
        except HonchoRequestError as error:
            known = representation.result()
            if not known.strip():
                raise
            logger.debug("recall goes without a new peer card: %s", error)
            last = self._stand_in(question)
            card = last.answer.card if last else ()
        return Answer(representation.result(), card).cut(KEPT_PER_BUDGET * rules.budget)

    def _start_card(self, user: User, beside: Pending[str]) -> Pending[tuple[str, ...]]:
        return self._requests.start(
            lambda timeout: self._honcho.peer_card(user.workspace, user.peer, timeout=timeout),
            timeout=self._rules.deadline,
            beside=beside,
        )


def clean_query(query: str) -> str:
    """A query that Honcho takes: of moderate length, without what it refuses."""
    return defuse_control_tokens(repair(query)).strip()[:LONGEST_QUERY]
