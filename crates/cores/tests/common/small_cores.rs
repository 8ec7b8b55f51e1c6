//! Cores so small that every event occurs at once.

use tollgate_cores::Core;

/// A machine without a pipeline, whose shifts and divisions depend on their operands.
pub(crate) fn serial() -> Core {
    let core = "name = 'serial'
        [pipeline]
        kind = 'multi-cycle'
        [operation]
        arithmetic = { cycles = 3 }
        load = { cycles = 5 }
        store = { cycles = 4 }
        shift = { cycles = 4, step = 4 }
        jump = { cycles = 2 }
        indirect = { cycles = 6 }
        multiply = { cycles = 8 }
        multiply-high = { cycles = 12 }
        divide = { cycles = 20, by-zero = 5 }
        [branch]
        settle = 2
        [l1d]
        geometry = '2:2:16'
        [memory]
        latency = 9";
    Core::from_toml(core).unwrap()
}

/// A core that has everything, and little of it, so that everything happens often.
pub(crate) fn crowded(replacement: &str) -> Core {
    let core = format!(
        "name = 'crowded'
        [pipeline]
        fetch-width = 4
        load-use = 2
        [operation]
        multiply = {{ cycles = 3, pipelined = true }}
        divide = {{ cycles = 11, by-zero = 4 }}
        shift = {{ cycles = 1, step = 8 }}
        jump = {{ cycles = 2 }}
        float = {{ cycles = 4, pipelined = true }}
        atomic = {{ cycles = 2 }}
        [branch]
        predictor = 'bimodal'
        counters = 16
        btb = 8
        return-stack = 2
        settle = 1
        mispredict = 3
        taken = 1
        jump = 1
        indirect = 3
        [system]
        csr-use = 2
        csr-drain = true
        csr-flush = 3
        fence-i = 5
        [trap]
        exception = 4
        interrupt = 4
        return = 5
        [l1i]
        geometry = '4:2:16'
        replacement = '{replacement}'
        [l1d]
        geometry = '2:2:16'
        replacement = '{replacement}'
        [l2]
        geometry = '8:2:64'
        hit = 7
        [itlb]
        entries = 1
        [dtlb]
        entries = 1
        [memory]
        latency = 31
        device = 5
        stores-wait = true
        walk = 2"
    );
    Core::from_toml(&core).unwrap()
}

/// CVA6 with a scoreboard that is often full, whose stores often wait, and whose predictions are often wrong.
pub(crate) fn narrow(replacement: &str) -> Core {
    let core = format!(
        "name = 'narrow'
        base = 'cva6'
        [front]
        queue = 3
        [scoreboard]
        entries = 3
        commits = 2
        load = 3
        atomic = 2
        walk = 1
        [stores]
        queue = 2
        words = 2
        writes = 1
        answer = 2
        [operation]
        multiply = {{ cycles = 3 }}
        divide = {{ cycles = 3, digits = true }}
        float = {{ cycles = 4 }}
        [branch]
        counters = 4
        btb = 2
        return-stack = 2
        [l1i]
        geometry = '4:2:16'
        replacement = '{replacement}'
        [l1d]
        geometry = '4:2:16'
        replacement = '{replacement}'
        write-through = true
        no-write-allocate = true
        [l2]
        geometry = '8:2:64'
        hit = 7
        [itlb]
        entries = 1
        [dtlb]
        entries = 2
        [memory]
        latency = 11
        miss = 4
        fetch-miss = 3
        walk = 1
        walk-level = 3"
    );
    Core::from_toml(&core).unwrap()
}

/// Rocket with little of everything, so that its fetch often runs on to lines that are missing, and its stores meet the
/// lines that they displace.
pub(crate) fn forgetful() -> Core {
    let core = "name = 'forgetful'
        base = 'rocket'
        [branch]
        counters = 16
        btb = 3
        return-stack = 2
        [l1i]
        geometry = '4:2:16'
        replacement = 'lfsr16'
        [l1d]
        geometry = '4:2:16'
        replacement = 'lfsr16'
        [itlb]
        entries = 2
        [dtlb]
        entries = 2
        [memory]
        latency = 12
        fetch-fill = 2
        line-words = 2
        write-back-compare = 8";
    Core::from_toml(core).unwrap()
}

/// VexRiscv with caches so small that wrong paths often come to lines that are missing, or displace what is needed.
pub(crate) fn straying(sets: u32) -> Core {
    let core = format!(
        "name = 'straying'
        base = 'vexriscv'
        l1i.geometry = '{sets}:1:16'
        l1d.geometry = '4:1:16'
        itlb.entries = 2
        dtlb.entries = 2"
    );
    Core::from_toml(&core).unwrap()
}
