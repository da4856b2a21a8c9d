#include "lp_lookups.h"

#include "lp_engine.h"

uint64_t
lp_lookups_cost(const lp_recorder *rec, const lp_code *code, int was, int now)
{
    uint32_t steps = lp_lookup_steps(lp_code_lookups(code, was),
                                     lp_code_lookups(code, now));

    return (uint64_t)steps * rec->costs.lookup;
}

void
lp_lookups_charge(lp_recorder *rec, lp_frame *top, PyFrameObject *frame)
{
    const lp_code *code = lp_process.codes[top->counts->code_id];
    int offset = lp_frame_lasti(frame);

    rec->cost += lp_lookups_cost(rec, code, top->offset, offset);
    top->offset = offset;
}
