// VexRiscv: two Wishbone ports. A line's first word comes after the latency, each other word one cycle later.
#include "Vcore.h"
#include "Vcore_VexRiscv.h"
#include "sim.h"

// How long a port has waited for the word that it asks for.
struct Port {
    uint64_t waited = 0;
    bool burst = false;

    bool answers(const Sim &sim, bool asks, int cti) {
        if (!asks) {
            waited = 0, burst = false;
            return false;
        }
        if (!burst && waited++ < sim.latency) return false;
        waited = 0;
        burst = cti == 2;
        return true;
    }
};

void simulate(Sim &sim) {
    Vcore core;
    Port fetch, data;
    core.externalResetVector = ROM;
    auto clock = [&](bool high) { core.clk = high, core.eval(); };
    core.reset = 1;
    for (int i = 0; i < 4; i++) clock(0), clock(1);
    core.reset = 0;
    for (; sim.running(); sim.tick()) {
        core.externalInterruptArray = sim.external;
        core.timerInterrupt = sim.timer();
        core.softwareInterrupt = sim.software();
        core.iBusWishbone_ACK = core.dBusWishbone_ACK = 0;
        core.iBusWishbone_ERR = core.dBusWishbone_ERR = 0;
        clock(0);
        uint32_t word = 0;
        if (fetch.answers(sim, core.iBusWishbone_CYC && core.iBusWishbone_STB, core.iBusWishbone_CTI)) {
            bool known = sim.read32(core.iBusWishbone_ADR << 2, word);
            core.iBusWishbone_DAT_MISO = word;
            core.iBusWishbone_ACK = 1, core.iBusWishbone_ERR = !known;
        }
        if (data.answers(sim, core.dBusWishbone_CYC && core.dBusWishbone_STB, core.dBusWishbone_CTI)) {
            uint32_t address = core.dBusWishbone_ADR << 2;
            bool known = core.dBusWishbone_WE
                ? sim.write32(address, core.dBusWishbone_DAT_MOSI, core.dBusWishbone_SEL)
                : sim.read32(address, word);
            core.dBusWishbone_DAT_MISO = word;
            core.dBusWishbone_ACK = 1, core.dBusWishbone_ERR = !known;
        }
        clock(0);
        if (core.VexRiscv->lastStageIsFiring) sim.retire(core.VexRiscv->lastStagePc, false);
        clock(1);
    }
}
