# What costs time in a loop beside the number of its instructions, and the code of a tile
# outside of the main loop.
import re

from registers import operation_of, results_of, sources_of
from sass import is_branch_call, main_loops, natural_loops, retries

# Waits until all earlier accesses are visible on the GPU. PTX fences of cluster scope become
# MEMBAR of GPU scope; an acquire of cluster or GPU scope, and a wait for bulk stores, drop the
# first-level cache.
FENCE = re.compile(r"MEMBAR\.\w+\.(GPU|SYS)\b|CCTL\.IVALL\b")
# Orders threads before engines (fence.proxy.async).
PROXY = re.compile(r"FENCE\.VIEW\b")
BARRIER = re.compile(r"(BAR\.(SYNC|RED|ARV)|UCGABAR_WAIT)\b")
WAIT = re.compile(r"SYNCS\.PHASECHK\b")
SPILL = re.compile(r"(STL|LDL)\b")
CALL = re.compile(r"CALL\b")
# The assembler adds checks with calls of these to each allocation of tensor memory.
GUARDRAIL = re.compile(r"guardrail_trap")
# What puts results into global memory.
RESULT = re.compile(r"(STG|ST\.E|UTMASTG|UTMAREDG|RED[G.]|ATOMG|UBLKRED|UBLKCP\.G\.S)")

# Chains of dependent arithmetic, one class of instructions at a time. Copies between registers
# and lanes keep a value in the chain, at no depth of their own.
CHAINS = {
    "max": re.compile(r"U?FMNMX3?\b|HMNMX2\b"),
    "add": re.compile(r"(U?FADD2?|FHADD)\b|HADD2(?!\.F32)\b|U?FFMA2?\b"),
}
ADDEND_ONLY = re.compile(r"U?FFMA2?\b")
COPY = re.compile(r"U?MOV\b|IMAD\.MOV\b|U?F?SEL\b|SHFL\b|R2UR\b")

COUNTS = (("f", "fences", FENCE), ("p", "proxy fences", PROXY), ("b", "barriers", BARRIER),
          ("s", "waits", WAIT), ("l", "spills", SPILL), ("k", "calls", CALL))


def is_exempt(text):
    """Calls that are branches, or that the assembler adds to every kernel with tensor memory."""
    return is_branch_call(text) or bool(GUARDRAIL.search(text))


def counts_of(texts):
    """Letter -> how many of these instructions are there."""
    found = dict.fromkeys((letter for letter, _, _ in COUNTS), 0)
    for text in texts:
        name = operation_of(text)[0]
        for letter, _, pattern in COUNTS:
            found[letter] += bool(pattern.match(name)) and not is_exempt(text)
    return found


def chain_of(blocks, body, kind):
    """The depth of the longest chain of one class in an iteration of a loop.

    An instruction of the class is one deeper than its deepest operand; of a fused multiply-add,
    only the addend counts, because a sum continues there. Other instructions start anew.
    """
    pattern, longest = CHAINS[kind], 0
    entering = {}
    for index in sorted(body):
        depths = entering.get(index, {})
        for _, text in blocks[index].instructions:
            name, _, guarded = operation_of(text)
            results = results_of(text)
            if not results:
                continue
            depth, sources = 0, sources_of(text)
            if pattern.match(name) or COPY.match(name):
                if ADDEND_ONLY.match(name):
                    sources = sources[2:3]
                depth = max([depths.get(source, 0) for operand in sources for source in operand],
                            default=0)
                depth += bool(pattern.match(name))
            longest = max(longest, depth)
            for result in results:
                depths[result] = max(depth, depths.get(result, 0)) if guarded else depth
        for successor in blocks[index].successors:
            if successor in body and successor > index:
                merged = entering.setdefault(successor, {})
                for register, depth in depths.items():
                    merged[register] = max(depth, merged.get(register, 0))
    return longest


class LoopCosts:
    """Counts and chains of one loop."""

    def __init__(self, loop, code):
        self.loop = loop
        texts = [text for index in sorted(loop.body) for _, text in code.blocks[index].instructions]
        self.counts = counts_of(texts)
        self.chains = {kind: chain_of(code.blocks, loop.body, kind) for kind in CHAINS}

    def text(self, addresses=False):
        counts = dict(self.loop.counts, **self.counts)
        parts = ["+".join("%d%s" % (n, kind) for kind, n in counts.items() if n)]
        parts += ["%s %d" % (kind, depth) for kind, depth in self.chains.items() if depth]
        where = " at %x..%x" % (self.loop.first, self.loop.last) if addresses else ""
        return "%d (%s)%s" % (self.loop.size, ", ".join(filter(None, parts)), where)


def follow(blocks, start, allowed, without):
    """Blocks that can be reached from `start`, itself included, within `allowed`."""
    seen = set()
    open_ = [index for index in start if index in allowed]
    while open_:
        index = open_.pop()
        if index not in seen:
            seen.add(index)
            open_ += [other for other in blocks[index].successors
                      if other in allowed and (index, other) not in without]
    return seen


def epilogue_blocks(code, loops, main):
    """The code of a tile after its main loops: to the end of the kernel, or to the end of an
    iteration of a persistent loop. If other warps write the results, theirs."""
    blocks = code.blocks
    every = set(range(len(blocks)))
    inside = set().union(*(loop.whole for loop in main))
    outside = every - inside
    writers = {index for index in every
               if any(RESULT.match(operation_of(text)[0]) for _, text in blocks[index].instructions)}
    outer = [loop for loop in loops if any(loop.whole > other.whole for other in main)]
    back = {(index, loop.head) for loop in outer for index in loop.whole}
    exits = {other for index in inside for other in blocks[index].successors}
    after = follow(blocks, exits, outside, back)
    if not after & writers and writers & outside:
        # Warps with another role write the results, maybe in a persistent loop.
        persistent = [loop for loop in loops if loop.whole & writers and not loop.whole & inside]
        leading = [follow(blocks, [index], every, set()) for index in range(len(blocks))]
        after = set().union(*(loop.whole for loop in persistent)) or \
            {index for index in outside if leading[index] & writers and not leading[index] & inside}
    else:
        # Of a persistent loop, what follows the loop is not part of a tile.
        around = [loop for loop in outer if loop.whole & after & writers]
        if around:
            after &= set().union(*(loop.whole for loop in around))
    return after - retries(code)


class KernelCosts:
    """Costs of the main loops of a kernel, and of what follows them."""

    def __init__(self, code):
        loops = natural_loops(code)
        main = main_loops(code, loops)
        self.main = [LoopCosts(loop, code) for loop in main]
        self.counts = counts_of([text for block in code.blocks for _, text in block.instructions])
        after = epilogue_blocks(code, loops, main) if main else []
        lines = [text for index in sorted(after) for _, text in code.blocks[index].instructions]
        self.epilogue_size = sum(operation_of(text)[0] != "NOP" for text in lines)
        self.epilogue = counts_of(lines)

    def epilogue_text(self):
        counts = "+".join("%d%s" % (n, kind) for kind, n in self.epilogue.items() if n)
        return "%d%s" % (self.epilogue_size, " (%s)" % counts if counts else "") if self.main else "-"

    def worst(self, kind):
        """The deepest chain of a class in a main loop."""
        return max((costs.chains[kind] for costs in self.main), default=0)

    def fences_in_loops(self):
        return sum(costs.counts["f"] for costs in self.main)
