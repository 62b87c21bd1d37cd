"""Runs command lines, each in a process of its own that is forked after the imports, which take most of the time.

A line of JSON in, {"argv": [...], "cwd": ..., "max_bytes": ...}; a line of JSON out, {"code", "out", "err"}.
`max_bytes` limits the size of files, as a full disk would.
"""

import json
import os
import resource
import sys
import tempfile


def serve(request):
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            run(request, out.fileno(), err.fileno())
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        texts = [file.read().decode() for file in (out, err) if file.seek(0) == 0]
    return {"code": code, "out": texts[0], "err": texts[1]}


def run(request, out, err):
    from neuralfactors._cli import main

    code = 70
    try:
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.chdir(request["cwd"])
        if request["max_bytes"] is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (request["max_bytes"], resource.RLIM_INFINITY))
        sys.argv = ["neuralfactors", *request["argv"]]
        main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    import neuralfactors._cli
    import neuralfactors._experiment
    import neuralfactors._report  # noqa: F401

    channel = os.fdopen(os.dup(1), "w")  # children write elsewhere, and nothing else may reach it
    for line in sys.stdin:
        channel.write(json.dumps(serve(json.loads(line))) + "\n")
        channel.flush()
