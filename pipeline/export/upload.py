"""Puts an exported dataset folder on the Hub, only when asked to by name."""

from __future__ import annotations

from pathlib import Path

import duckdb

from pipeline.errors import Invalid, Upstream, Usage


def upload(folder: Path, repo: str, message: str, endpoint: str | None, token: str | None, tag: str) -> str:
    """Commit the folder to a dataset repository, tag the commit, and return its address; earlier ones stay.

    A repository that does not exist is created private: whoever owns it makes it public.

    Raises:
        Usage: no token, or no such name can be.
        Invalid: the snapshot lists private repositories.
        Upstream: the Hub refuses or cannot be reached.
    """
    import httpx2
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    if token is None:
        raise Usage("--upload needs a token that may write: set HF_TOKEN, or log in with 'hf auth login'")
    _require_public(folder)
    api = HfApi(endpoint=endpoint, token=token)
    try:
        api.create_repo(repo, repo_type="dataset", private=True, exist_ok=True)
        commit = api.upload_folder(repo_id=repo, repo_type="dataset", folder_path=folder, commit_message=message)
        api.create_tag(repo, tag=tag, repo_type="dataset", revision=commit.oid, tag_message=message, exist_ok=True)
    except HFValidationError as error:
        raise Usage(f"--upload {repo}: a dataset is named owner/name ({str(error).splitlines()[0]})") from error
    except (HfHubHTTPError, httpx2.HTTPError, OSError) as error:
        said = str(error).strip().splitlines()[0]
        raise Upstream(f"{repo} was not uploaded: {said}; the folder {folder} is whole, run again") from error
    return commit.commit_url


def _require_public(folder: Path) -> None:
    """The reader's token may have listed repositories that nobody else may see."""
    models = folder / "data" / "models.parquet"
    [(private,)] = duckdb.execute("SELECT count(*) FROM read_parquet(?) WHERE private", [str(models)]).fetchall()
    if private:
        raise Invalid(
            f"nothing was uploaded: the snapshot lists {private:,} private repositories, whose names and configs would"
            " be in it; refresh without them (--list, or without a token)"
        )
