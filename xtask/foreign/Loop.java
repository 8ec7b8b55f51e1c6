import java.util.Arrays;

/** A benchmark in the manner of JMH: iterations of warm-up, then measured ones, each a loop of calls; the callees count. */
final class Loop {
    private Loop() {}

    private static final int CALLS = 20_000;

    static native void down();

    static native void up(int calls);

    private static long called;

    static void callee() {
        called++;
    }

    private static long downs() {
        long begin = System.nanoTime();
        for (int call = 0; call < CALLS; call++) down();
        return System.nanoTime() - begin;
    }

    private static long ups() {
        long begin = System.nanoTime();
        up(CALLS);
        return System.nanoTime() - begin;
    }

    /** The lowest tenth of the iterations, which is what tollgate reports of its batches. */
    private static double lowest(java.util.function.LongSupplier iteration) {
        for (int warm = 0; warm < 1_000; warm++) iteration.getAsLong();
        long[] times = new long[500];
        for (int at = 0; at < times.length; at++) times[at] = iteration.getAsLong();
        Arrays.sort(times);
        return (double) times[times.length / 10] / CALLS;
    }

    public static void main(String[] arguments) {
        System.load(arguments[0]);
        System.out.printf("down %.3f%nup %.3f%n", lowest(Loop::downs), lowest(Loop::ups));
    }
}
