// CVA6: one AXI port, with atomic operations in memory.
#include "Vcore.h"
#include "axi.h"

static Sim *current;
extern "C" void retired(unsigned long long pc, unsigned char trapped) { current->retire(pc, trapped); }

void simulate(Sim &sim) {
    Vcore core;
    Axi memory;
    current = &sim;
    core.boot = sim.entry;
    auto clock = [&](bool high) { core.clk = high, core.eval(); };
    core.rst_n = 1, clock(0);
    core.rst_n = 0;
    for (int i = 0; i < 10; i++) clock(1), clock(0);
    core.rst_n = 1;
    for (; sim.running(); sim.tick()) {
        core.external = sim.external, core.timer = sim.timer(), core.software = sim.software();
        memory.drive(sim.cycle);
        core.r_valid = memory.r_valid, core.r_id = memory.r.id, core.r_data = memory.r.data;
        core.r_last = memory.r.last, core.r_answer = memory.r.answer;
        core.b_valid = memory.b_valid, core.b_id = memory.b.id, core.b_answer = memory.b.answer;
        // An address and its first word are taken together.
        core.aw_ready = core.w_ready = 0;
        clock(0);
        core.aw_ready = core.w_ready = core.aw_valid && core.w_valid;
        clock(0);
        memory.ar = {core.ar_valid != 0, core.ar_id, core.ar_address, core.ar_length, core.ar_size, core.ar_burst,
                     core.ar_exclusive != 0, 0};
        memory.aw = {core.aw_valid && core.aw_ready, core.aw_id, core.aw_address, core.aw_length, core.aw_size,
                     core.aw_burst, core.aw_exclusive != 0, core.aw_atomic};
        memory.w_valid = core.w_valid && core.w_ready, memory.w_data = core.w_data, memory.w_strobe = core.w_strobe;
        memory.r_ready = core.r_ready, memory.b_ready = core.b_ready;
        memory.take(sim);
        clock(1);
    }
}
