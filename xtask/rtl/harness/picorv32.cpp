// PicoRV32: one port, which waits for the answer. A latency of 0 answers in the cycle of the request.
#include "Vcore.h"
#include "sim.h"

void simulate(Sim &sim) {
    Vcore core;
    uint64_t waited = 0;
    auto clock = [&](bool high) { core.clk = high, core.eval(); };
    core.resetn = 0;
    for (int i = 0; i < 4; i++) clock(0), clock(1);
    core.resetn = 1;
    for (; sim.running(); sim.tick()) {
        core.mem_ready = 0;
        clock(0);
        if (core.mem_valid && waited++ == sim.latency) {
            uint32_t data;
            if (core.mem_wstrb)
                sim.write32(core.mem_addr, core.mem_wdata, core.mem_wstrb);
            else if (sim.read32(core.mem_addr, data))
                core.mem_rdata = data;
            core.mem_ready = 1;
            waited = 0;
            clock(0);
        }
        if (core.rvfi_valid) sim.retire(core.rvfi_pc_rdata, core.rvfi_trap);
        clock(1);
    }
}
