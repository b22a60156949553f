# Counts the expensive instructions of each main loop and its longest dependence chains, and finds
# the epilogue: a tile's code outside the main loops.
import re

from registers import operation_of, results_of, sources_of
from sass import is_branch_call, main_loops, natural_loops, retries

# Waits until all earlier accesses are visible on the GPU. PTX fences at cluster scope become
# MEMBAR at GPU scope. An acquire at cluster or GPU scope, and a wait for bulk stores, invalidate
# the L1 cache.
FENCE = re.compile(r"MEMBAR\.\w+\.(GPU|SYS)\b|CCTL\.IVALL\b")
# Orders generic accesses before async-proxy accesses (fence.proxy.async).
PROXY = re.compile(r"FENCE\.VIEW\b")
BARRIER = re.compile(r"(BAR\.(SYNC|RED|ARV)|UCGABAR_WAIT)\b")
WAIT = re.compile(r"SYNCS\.PHASECHK\b")
SPILL = re.compile(r"(STL|LDL)\b")
CALL = re.compile(r"CALL\b")
# ptxas adds checks that call these functions to each tensor memory allocation.
GUARDRAIL = re.compile(r"guardrail_trap")
# Stores and reductions to global memory.
RESULT = re.compile(r"(STG|ST\.E|UTMASTG|UTMAREDG|RED[G.]|ATOMG|UBLKRED|UBLKCP\.G\.S)")

# Classes of instructions that form chains of dependent arithmetic. Copies between registers and
# lanes continue a chain without making it longer.
CHAINS = {
    "max": re.compile(r"U?FMNMX3?\b|HMNMX2\b"),
    "add": re.compile(r"(U?FADD2?|FHADD)\b|HADD2(?!\.F32)\b|U?FFMA2?\b"),
}
ADDEND_ONLY = re.compile(r"U?FFMA2?\b")
COPY = re.compile(r"U?MOV\b|IMAD\.MOV\b|U?F?SEL\b|SHFL\b|R2UR\b")

COUNTS = (("f", "fences", FENCE), ("p", "proxy fences", PROXY), ("b", "barriers", BARRIER),
          ("s", "waits", WAIT), ("l", "spills", SPILL), ("k", "calls", CALL))


def is_exempt(text):
    """Returns whether a call is really a branch, or a check that ptxas adds for tensor memory."""
    return is_branch_call(text) or bool(GUARDRAIL.search(text))


def counts_of(texts):
    """Returns the number of instructions for each letter of COUNTS."""
    found = dict.fromkeys((letter for letter, _, _ in COUNTS), 0)
    for text in texts:
        name = operation_of(text)[0]
        for letter, _, pattern in COUNTS:
            found[letter] += bool(pattern.match(name)) and not is_exempt(text)
    return found


def chain_of(blocks, body, kind):
    """Returns the length of the longest chain of one class in a loop iteration.

    An instruction of the class is one deeper than its deepest operand. A fused multiply-add
    extends only the chain of its addend. Instructions of other classes start new chains.
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
    """Instruction counts and chain lengths of one loop."""

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
    """Returns the blocks reachable from `start` within `allowed`, including `start`."""
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
    """Returns the blocks after a tile's main loops, up to the end of the kernel or of the persistent
    loop's iteration. If only other warps store results, returns those warps' blocks."""
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
        # Warps with another role store the results, possibly in a persistent loop.
        persistent = [loop for loop in loops if loop.whole & writers and not loop.whole & inside]
        leading = [follow(blocks, [index], every, set()) for index in range(len(blocks))]
        after = set().union(*(loop.whole for loop in persistent)) or \
            {index for index in outside if leading[index] & writers and not leading[index] & inside}
    else:
        # Code after a persistent loop does not belong to a tile.
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
