"""A memory behind HTTP, in a small application of its own.

    pip install 'honcho-memory[http]' uvicorn
    python examples/http_app.py               # or: uvicorn examples.http_app:app --port 8080

    curl -H 'X-User: ada' -H 'Content-Type: application/json' \
        -d '{"content": "Likes tea."}' http://localhost:8080/api/memory/facts
    curl -H 'X-User: ada' http://localhost:8080/api/memory

http://localhost:8080/docs shows the routes. What is remembered is kept in this process: a real
host opens its memory with `open_memory({"base_url": ..., "storage_path": ...})`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import FastAPI, Header

from honcho_memory import open_memory
from honcho_memory.adapters.http_api import memory_router
from honcho_memory.adapters.in_memory import InMemoryHoncho

memory = open_memory(honcho=InMemoryHoncho())


# For the demo alone: it takes everybody's word for who they are. A real host authenticates here,
# by a session or a token, and returns None or raises HTTPException(401) for whoever it cannot.
def current_user_id(x_user: Annotated[str | None, Header()] = None) -> str | None:
    """Who asks."""
    return x_user


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
    """The log says at the start whether Honcho can be used; what waits at the end is delivered."""
    await asyncio.to_thread(memory.warm)
    yield
    await asyncio.to_thread(memory.flush, 5)
    await asyncio.to_thread(memory.close)


app = FastAPI(title="A memory", lifespan=lifespan)
app.include_router(memory_router(memory, user_id=current_user_id), prefix="/api")

if __name__ == "__main__":
    import uvicorn

    uvicorn.run(app, port=8080)
