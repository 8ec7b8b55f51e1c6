// Rocket: an AXI port for memory and one for everything between 0x10000000 and 0x80000000; the timer is inside.
#include "Vcore.h"
#include "axi.h"

static Sim *current;
extern "C" void retired(unsigned long long pc, unsigned char trapped) { current->retire(pc, trapped); }
extern "C" void raised() { current->see(); }

#define DRIVE(port, prefix) \
    port.drive(sim.cycle); \
    core.prefix##r_valid = port.r_valid, core.prefix##r_bits_id = port.r.id, core.prefix##r_bits_data = port.r.data; \
    core.prefix##r_bits_last = port.r.last, core.prefix##r_bits_resp = port.r.answer; \
    core.prefix##b_valid = port.b_valid, core.prefix##b_bits_id = port.b.id; \
    core.prefix##b_bits_resp = port.b.answer

#define REQUEST(port, channel, prefix) \
    port.channel = {core.prefix##valid != 0, core.prefix##bits_id, core.prefix##bits_addr, core.prefix##bits_len, \
                    core.prefix##bits_size, core.prefix##bits_burst, false, 0}

#define TAKE(port, prefix) \
    REQUEST(port, ar, prefix##ar_); \
    REQUEST(port, aw, prefix##aw_); \
    port.w_valid = core.prefix##w_valid, port.w_data = core.prefix##w_bits_data; \
    port.w_strobe = core.prefix##w_bits_strb, port.w_last = core.prefix##w_bits_last; \
    port.r_ready = core.prefix##r_ready, port.b_ready = core.prefix##b_ready; \
    port.take(sim)

void simulate(Sim &sim) {
    Vcore core;
    Axi memory, mmio;
    current = &sim;
    sim.behind = true;
    core.mem_axi4_0_ar_ready = core.mem_axi4_0_aw_ready = core.mem_axi4_0_w_ready = 1;
    core.mmio_axi4_0_ar_ready = core.mmio_axi4_0_aw_ready = core.mmio_axi4_0_w_ready = 1;
    core.debug_dmactiveAck = 1;
    auto clock = [&](bool high) { core.clock = core.debug_clock = core.debug_clockeddmi_dmiClock = high, core.eval(); };
    auto reset = [&](bool on) { core.reset = core.debug_reset = core.debug_clockeddmi_dmiReset = on; };
    reset(true);
    for (int i = 0; i < 100; i++) clock(0), clock(1);
    reset(false);
    for (; sim.running(); sim.tick()) {
        core.interrupts = sim.external;
        DRIVE(memory, mem_axi4_0_);
        DRIVE(mmio, mmio_axi4_0_);
        clock(0);
        TAKE(memory, mem_axi4_0_);
        TAKE(mmio, mmio_axi4_0_);
        clock(1);
    }
}
