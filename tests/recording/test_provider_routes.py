"""Paths and bodies of every provider's calls, and of what only looks like one."""

from __future__ import annotations

from typing import Any

import pytest

from agentdbg.recording.provider_routes import Route, model_read, route_of

USER = [{"role": "user", "content": "x"}]
CONTENTS = {"contents": [{"parts": [{"text": "x"}]}]}
CLAUDE = {"anthropic_version": "v", "messages": USER}


@pytest.mark.parametrize(
    ("path", "body", "route"),
    [
        ("/v1beta/models/gemini-x:generateContent", CONTENTS, Route("google.gemini", "gemini-x", False)),
        ("/v1/models/gemini-x:streamGenerateContent", CONTENTS, Route("google.gemini", "gemini-x", True)),
        (
            "/v1/projects/p/locations/l/publishers/google/models/g:generateContent",
            CONTENTS,
            Route("google.gemini", "g", False),
        ),
        ("/v1/projects/p/locations/l/endpoints/77:generateContent", CONTENTS, Route("google.gemini", "77", False)),
        ("/v1/p/publishers/anthropic/models/c@1:streamRawPredict", CLAUDE, Route("anthropic.messages", "c@1", True)),
        ("/api/chat", {"model": "m", "messages": USER}, Route("ollama.chat", "", True)),
        ("/api/chat", {"model": "m", "messages": USER, "stream": False}, Route("ollama.chat", "", False)),
        ("/api/generate", {"model": "m", "prompt": "x"}, Route("ollama.generate", "", True)),
        ("/v2/chat", {"model": "m", "messages": USER}, Route("cohere.chat")),
        ("/model/a.b-v1%3A0/converse", {"messages": USER}, Route("bedrock.converse", "a.b-v1:0", False)),
        (
            "/model/arn%3Aaws%3Abedrock%3Aus%3A1%3Aprofile%2Fx/converse-stream",
            {"messages": USER},
            Route("bedrock.converse", "arn:aws:bedrock:us:1:profile/x", True),
        ),
        ("/model/c/invoke", CLAUDE, Route("anthropic.messages", "c", False)),
        ("/model/c/invoke-with-response-stream", CLAUDE, Route("anthropic.messages", "c", True)),
        ("/v1/agents/completions", {"agent_id": "a", "messages": USER}, Route("openai.chat")),
        ("/v1/fim/completions", {"model": "m", "prompt": "x"}, Route("openai.completions")),
        ("/v1/completions", {"model": "m", "prompt": ["x", "y"]}, Route("openai.completions")),
        ("/openai/v1/chat/completions", {"model": "m", "messages": USER}, Route("openai.chat")),
        ("/openai/deployments/d/chat/completions", {"messages": USER}, Route("openai.chat", "d")),
        ("/openai/v1/responses", {"model": "m", "input": "x"}, Route("openai.responses")),
        ("/api/v1/chat/completions", {"model": "m", "messages": USER}, Route("openai.chat")),
        ("/api/chat", {"messages": USER}, None),
        ("/api/generate", {"model": "m"}, None),
        ("/v2/chat", {"message": "x"}, None),
        ("/v1/chat", {"message": "x"}, None),
        ("/model/amazon.titan/invoke", {"inputText": "x"}, None),
        ("/v1beta/models/gemini-x:generateContent", {"prompt": "x"}, None),
        ("/v1beta/models/gemini-x:predict", CONTENTS, None),
        ("/v1/completions", {"items": []}, None),
    ],
)
def test_calls_are_known_by_path_and_body(path: str, body: dict[str, Any], route: Route | None) -> None:
    assert route_of(path, body) == route


@pytest.mark.parametrize(
    ("path", "body", "name"),
    [
        ("/v1/embeddings", {"model": "e", "input": "x"}, "embed e"),
        ("/openai/deployments/d/embeddings?api-version=1", {"input": ["x"]}, "embed d"),
        ("/v1beta/models/e:embedContent", {"content": {}}, "embed e"),
        ("/v1beta/models/e:batchEmbedContents", {"requests": []}, "embed e"),
        ("/v1/models/g:countTokens", CONTENTS, "count tokens g"),
        ("/api/embed", {"model": "e", "input": "x"}, "embed e"),
        ("/api/embeddings", {"model": "e", "prompt": "x"}, "embed e"),
        ("/v2/embed", {"model": "e", "texts": []}, "embed e"),
        ("/v2/rerank", {"model": "r", "query": "x", "documents": []}, "rerank r"),
        ("/v1/moderations", {"input": "x"}, "moderate"),
        ("/v1/messages/count_tokens", {"model": "c", "messages": USER}, "count tokens c"),
        ("/model/cohere.embed-v3%3A0/invoke", {"texts": []}, "embed cohere.embed-v3:0"),
        ("/model/amazon.titan/invoke", {"inputText": "x"}, None),
        ("/embeddings", {"name": "x"}, None),
        ("/orders", {"input": "x"}, None),
    ],
)
def test_asking_a_model_for_something_else_is_named(path: str, body: dict[str, Any], name: str | None) -> None:
    assert model_read(path, body) == name
