"""The routes of the Honcho v3 API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Query, Request, Response

from honcho_memory.testing.strict_honcho import bodies, filters, storage
from honcho_memory.testing.strict_honcho.storage import Storage

router = APIRouter(prefix="/v3/workspaces")

Json = dict[str, Any]
_T = TypeVar("_T")

_MESSAGE_COLUMNS = ("created_at", "metadata", "peer_id", "session_id", "token_count")
_CONCLUSION_COLUMNS = ("id", "level", "observed", "observed_id", "observer", "observer_id")
_THING_COLUMNS = ("created_at", "id", "is_active", "metadata")


def _storage(request: Request) -> Storage:
    found: Storage = request.app.state.storage
    return found


def _now() -> datetime:
    return datetime.now(UTC)


Store = Annotated[Storage, Depends(_storage)]
Now = Annotated[datetime, Depends(_now)]


@dataclass(frozen=True, slots=True)
class Paging:
    """Which part of a list is wanted."""

    page: Annotated[int, Query(ge=1)] = 1
    size: Annotated[int, Query(ge=1, le=100)] = 50
    reverse: bool = False

    def of(self, items: Sequence[_T], show: Callable[[_T], Json]) -> Json:
        """That part, with the numbers around it."""
        ordered = list(reversed(items)) if self.reverse else list(items)
        start = (self.page - 1) * self.size
        return {
            "items": [show(item) for item in ordered[start : start + self.size]],
            "total": len(ordered),
            "page": self.page,
            "size": self.size,
            "pages": -(-len(ordered) // self.size),
        }


Pages = Annotated[Paging, Depends()]


def _time(time: datetime) -> str:
    return time.isoformat().replace("+00:00", "Z")


def _workspace(workspace: storage.Workspace) -> Json:
    return {
        "id": workspace.id,
        "created_at": _time(workspace.created_at),
        "metadata": workspace.metadata,
        "configuration": workspace.configuration,
    }


def _peer(workspace: str) -> Callable[[storage.Peer], Json]:
    return lambda peer: {
        "id": peer.id,
        "workspace_id": workspace,
        "created_at": _time(peer.created_at),
        "metadata": peer.metadata,
        "configuration": peer.configuration,
    }


def _session(workspace: str) -> Callable[[storage.Session], Json]:
    return lambda session: {
        "id": session.id,
        "is_active": session.is_active,
        "workspace_id": workspace,
        "metadata": session.metadata,
        "configuration": session.configuration,
        "created_at": _time(session.created_at),
    }


def _message(workspace: str) -> Callable[[storage.Message], Json]:
    return lambda message: {
        "id": message.id,
        "content": message.content,
        "peer_id": message.peer_id,
        "session_id": message.session_id,
        "metadata": message.metadata,
        "created_at": _time(message.created_at),
        "workspace_id": workspace,
        "token_count": message.token_count,
    }


def _conclusion(conclusion: storage.Conclusion) -> Json:
    return {
        "id": conclusion.id,
        "content": conclusion.content,
        "observer_id": conclusion.observer_id,
        "observed_id": conclusion.observed_id,
        "session_id": conclusion.session_id,
        "level": conclusion.level,
        "created_at": _time(conclusion.created_at),
    }


def _columns(item: Any, names: Iterable[str]) -> Json:
    """What filters see; `observer` is another name of `observer_id`."""
    return {name: getattr(item, name, getattr(item, f"{name}_id", None)) for name in names}


def _filtered(items: Iterable[_T], wanted: Json | None, names: Sequence[str]) -> list[_T]:
    if not wanted:
        return list(items)
    filters.check(wanted, names)
    return [item for item in items if filters.matches(wanted, _columns(item, names))]


@router.post("")
async def make_workspace(
    body: bodies.Workspace, response: Response, store: Store, now: Now
) -> Json:
    workspace, created = store.make_workspace(body, now)
    response.status_code = 201 if created else 200
    return _workspace(workspace)


@router.post("/list")
async def list_workspaces(body: bodies.Listing, pages: Pages, store: Store) -> Json:
    workspaces = store.workspaces.values()
    return pages.of(
        _filtered(workspaces, body.filters, ("created_at", "id", "metadata")), _workspace
    )


@router.delete("/{workspace}", status_code=202)
async def delete_workspace(workspace: str, store: Store) -> Json:
    store.delete_workspace(workspace)
    return {"message": "Workspace deleted successfully"}


@router.post("/{workspace}/peers")
async def make_peer(
    workspace: str, body: bodies.Peer, response: Response, store: Store, now: Now
) -> Json:
    peer, created = store.make_peer(workspace, body, now)
    response.status_code = 201 if created else 200
    return _peer(workspace)(peer)


@router.post("/{workspace}/peers/list")
async def list_peers(workspace: str, body: bodies.Listing, pages: Pages, store: Store) -> Json:
    peers = store.workspace(workspace).peers.values()
    return pages.of(_filtered(peers, body.filters, _THING_COLUMNS), _peer(workspace))


@router.put("/{workspace}/peers/{peer}")
async def update_peer(
    workspace: str, peer: str, body: bodies.Update, store: Store, now: Now
) -> Json:
    changed, _ = store.make_peer(
        workspace,
        bodies.Peer(id=peer, metadata=body.metadata, configuration=body.configuration),
        now,
    )
    return _peer(workspace)(changed)


@router.post("/{workspace}/peers/{peer}/sessions")
async def list_peer_sessions(
    workspace: str, peer: str, body: bodies.Listing, pages: Pages, store: Store
) -> Json:
    """Sessions that are being deleted are still named here, unlike in the workspace's list."""
    sessions = [s for s in store.workspace(workspace).sessions.values() if peer in s.members]
    return pages.of(_filtered(sessions, body.filters, _THING_COLUMNS), _session(workspace))


@router.get("/{workspace}/peers/{peer}/card")
async def get_card(workspace: str, peer: str, store: Store) -> Json:
    return {"peer_card": store.peer(workspace, peer).card}


@router.put("/{workspace}/peers/{peer}/card")
async def put_card(workspace: str, peer: str, body: bodies.Card, store: Store, now: Now) -> Json:
    owner, _ = store.make_peer(workspace, bodies.Peer(id=peer), now)
    owner.card = body.peer_card
    return {"peer_card": owner.card}


def _represent(store: Store, workspace: str, peer: str, query: str | None, limit: int) -> str:
    own = [
        conclusion
        for conclusion in store.workspace(workspace).conclusions
        if conclusion.observer_id == conclusion.observed_id == peer
    ]
    return storage.represent(own, query, limit)


@router.post("/{workspace}/peers/{peer}/representation")
async def representation(
    workspace: str, peer: str, body: bodies.Representation, store: Store
) -> Json:
    text = _represent(store, workspace, peer, body.search_query, body.max_conclusions)
    return {"representation": text}


@router.get("/{workspace}/peers/{peer}/context")
async def peer_context(
    workspace: str,
    peer: str,
    store: Store,
    max_conclusions: Annotated[int, Query(ge=1, le=100)] = 25,
) -> Json:
    found = store.peer(workspace, peer)
    return {
        "peer_id": peer,
        "target_id": peer,
        "representation": _represent(store, workspace, peer, None, max_conclusions),
        "peer_card": found.card,
    }


def _search(
    store: Store, workspace: str, body: bodies.Search, author: str | None = None
) -> list[Json]:
    messages = store.workspace(workspace).messages
    said = [m for m in messages if author in {None, m.peer_id}]
    found = storage.nearest(_filtered(said, body.filters, _MESSAGE_COLUMNS), body.query)
    return [_message(workspace)(message) for message in found[: body.limit]]


@router.post("/{workspace}/search")
async def search_workspace(workspace: str, body: bodies.Search, store: Store) -> list[Json]:
    return _search(store, workspace, body)


@router.post("/{workspace}/peers/{peer}/search")
async def search_peer(workspace: str, peer: str, body: bodies.Search, store: Store) -> list[Json]:
    return _search(store, workspace, body, author=peer)


@router.post("/{workspace}/sessions")
async def make_session(
    workspace: str, body: bodies.Session, response: Response, store: Store, now: Now
) -> Json:
    session, created = store.make_session(workspace, body, now)
    response.status_code = 201 if created else 200
    return _session(workspace)(session)


@router.post("/{workspace}/sessions/list")
async def list_sessions(workspace: str, body: bodies.Listing, pages: Pages, store: Store) -> Json:
    active = [s for s in store.workspace(workspace).sessions.values() if s.is_active]
    return pages.of(_filtered(active, body.filters, _THING_COLUMNS), _session(workspace))


@router.delete("/{workspace}/sessions/{session}", status_code=202)
async def delete_session(workspace: str, session: str, store: Store) -> Json:
    store.delete_session(workspace, session)
    return {"message": "Session deleted successfully"}


@router.get("/{workspace}/sessions/{session}/peers")
async def list_session_peers(workspace: str, session: str, pages: Pages, store: Store) -> Json:
    """That a session which is not there is not found is assumed; it might be empty as well."""
    members = store.session(workspace, session).members
    return pages.of([store.peer(workspace, name) for name in members], _peer(workspace))


@router.post("/{workspace}/sessions/{session}/peers")
async def add_session_peers(
    workspace: str, session: str, body: dict[bodies.Name, bodies.Membership], store: Store, now: Now
) -> Json:
    joined, _ = store.make_session(workspace, bodies.Session(id=session, peers=body), now)
    return _session(workspace)(joined)


@router.get("/{workspace}/sessions/{session}/context")
async def session_context(workspace: str, session: str, store: Store) -> Json:
    messages = store.workspace(workspace).messages
    store.session(workspace, session)
    return {
        "id": session,
        "messages": [_message(workspace)(m) for m in messages if m.session_id == session],
        "summary": None,
        "peer_representation": None,
        "peer_card": None,
    }


@router.post("/{workspace}/sessions/{session}/messages", status_code=201)
async def add_messages(
    workspace: str, session: str, body: bodies.MessageBatch, store: Store, now: Now
) -> list[Json]:
    stored = store.add_messages(workspace, session, body.messages, now)
    return [_message(workspace)(message) for message in stored]


@router.post("/{workspace}/sessions/{session}/messages/list")
async def list_messages(
    workspace: str, session: str, body: bodies.Listing, pages: Pages, store: Store
) -> Json:
    messages = [m for m in store.workspace(workspace).messages if m.session_id == session]
    return pages.of(_filtered(messages, body.filters, _MESSAGE_COLUMNS), _message(workspace))


@router.post("/{workspace}/conclusions", status_code=201)
async def add_conclusions(
    workspace: str, body: bodies.ConclusionBatch, store: Store, now: Now
) -> list[Json]:
    return [_conclusion(c) for c in store.add_conclusions(workspace, body.conclusions, now)]


@router.post("/{workspace}/conclusions/list")
async def list_conclusions(
    workspace: str, body: bodies.Listing, pages: Pages, store: Store
) -> Json:
    """Newest first, so that `reverse` means oldest first.

    Recorded are lists of one observer and one observed; that either may be left out is assumed.
    """
    names = ("session_id", *_CONCLUSION_COLUMNS)
    found = _filtered(store.workspace(workspace).conclusions, body.filters, names)
    return pages.of(found[::-1], _conclusion)


@router.post("/{workspace}/conclusions/query")
async def query_conclusions(
    workspace: str, body: bodies.ConclusionQuery, store: Store
) -> list[Json]:
    wanted = body.filters or {}
    for name in ("observer", "observed"):
        if name not in wanted and f"{name}_id" not in wanted:
            raise storage.Invalid(f"{name} is required in filters")
    names = ("session_id", *_CONCLUSION_COLUMNS)
    found = _filtered(store.workspace(workspace).conclusions, wanted, names)
    near = storage.nearest(found, body.query)
    if body.distance is not None:
        near = [c for c in near if storage.shared_words(c, body.query)]
    return [_conclusion(conclusion) for conclusion in near[: body.top_k]]


@router.delete("/{workspace}/conclusions/{conclusion}", status_code=204)
async def delete_conclusion(workspace: str, conclusion: str, store: Store) -> None:
    store.delete_conclusion(workspace, conclusion)


@router.get("/{workspace}/queue/status")
async def queue_status(workspace: str, store: Store) -> Json:
    """One work unit for each message of an observed peer, all of them completed."""
    home = store.workspace(workspace)
    observed = [m.session_id for m in home.messages if home.observes(m)]
    sessions = {name: storage.new_id() for name in dict.fromkeys(observed)}
    return {
        **_work(len(observed)),
        "sessions": {
            id_: {"session_id": id_, **_work(observed.count(name))}
            for name, id_ in sessions.items()
        },
    }


def _work(units: int) -> Json:
    return {
        "total_work_units": units,
        "completed_work_units": units,
        "in_progress_work_units": 0,
        "pending_work_units": 0,
    }
