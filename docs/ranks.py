"""Make howto/communication.md from ranks.json, which `python benchmarks/ranks.py --record docs/ranks.json` writes."""

import json
from pathlib import Path

FOLDER = Path(__file__).parent
PER_RANK = (6, 48)  # graphs a step

PAGE = """# What several ranks cost
The ranks of `torchrun` exchange one message per step: the sum of their gradients. Each rank holds a copy of the model
and of its optimiser, and runs inference only on its share of the graphs. Here the model has {parameters:,} parameters:
90 and 32 features, 256 and 512 hidden units, {labels} labels, as for MSRC-21.

## Measured: two ranks of one core each
{graphs} synthetic graphs of {nodes} nodes, {batch_size} a step.

| | median |
| --- | ---: |
| CPU time of a step on one rank | {step_alone:.0f} ms |
| CPU time of a step on the slower of two ranks | {step_of_two:.0f} ms |
| the message of a step | {message:.1f} ms |
| the message and the wait for the other rank | {waiting:.0f} ms |
| **speed-up over one rank, by CPU time and messages** | **{gain_by_cpu:.2f}** |
| speed-up by the clock | {gain:.2f} |
| the same for two unrelated processes | {machine:.2f} |

The rest is lost to the step of the optimiser, which every rank repeats, and to the wait for the rank with the harder
graphs. A message takes:

| numbers | ms |
| ---: | ---: |
{messages}

## What to expect of more ranks
In a ring of n ranks, a message takes 2 (n − 1) times the latency plus 2 (n − 1) / n times its size divided by the
bandwidth. Two ranks of this machine had a latency of {latency:.2f} ms and a bandwidth of {bandwidth:.1f} GB/s. The
table is computed from these figures, not measured; your network will differ. The percentages are the share of a step
that is not spent on messages:

| ranks | message | {headers} |
| ---: | ---: | {rule} |
{rows}

So give each rank enough to do. `batch_size` counts the graphs of all ranks together, and more ranks than graphs in a
batch are useless. A larger batch means fewer steps per epoch, and may need more epochs or a higher `learning_rate`.
Hundreds of cores are better used for a search (`tune --dask`) or for several seeds, which need no messages.

Made by `python docs/ranks.py` from the figures of `python benchmarks/ranks.py --record docs/ranks.json`.
"""


def make_page(found):
    """The page as text."""
    messages = {int(size): seconds for size, seconds in found["messages"].items()}
    smallest, largest = min(messages), max(messages)
    latency, bandwidth = messages[smallest] / 2, 4 * largest / messages[largest]

    def message(n_ranks):
        return 2 * (n_ranks - 1) * latency + 2 * (n_ranks - 1) / n_ranks * 4 * found["parameters"] / bandwidth

    def share(n_ranks, n_graphs):
        work = found["step_of_two"] * n_graphs / (found["batch_size"] / 2)
        return work / (work + message(n_ranks))

    rows = [
        f"| {n} | {1000 * message(n):.1f} ms | " + " | ".join(f"{100 * share(n, k):.0f} %" for k in PER_RANK) + " |"
        for n in (2, 8, 64, 512)
    ]
    milliseconds = {name: 1000 * found[name] for name in ("step_alone", "step_of_two", "message")}
    return PAGE.format(
        **{
            **found,
            **milliseconds,
            "messages": "\n".join(f"| {n:,} | {1000 * messages[n]:.2f} |" for n in sorted(messages)),
        },
        waiting=1000 * found["in_messages_and_waiting"],
        latency=1000 * latency,
        bandwidth=bandwidth / 1e9,
        headers=" | ".join(f"{k} graphs a rank" for k in PER_RANK),
        rule=" | ".join("---:" for _ in PER_RANK),
        rows="\n".join(rows),
    )


if __name__ == "__main__":
    text = make_page(json.loads((FOLDER / "ranks.json").read_text()))
    (FOLDER / "howto" / "communication.md").write_text(text)
