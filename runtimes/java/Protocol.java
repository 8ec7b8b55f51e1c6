import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongConsumer;
import java.util.function.Supplier;

/** The course of a measurement and its output. */
final class Protocol {
    /** One batch with its counted switches. */
    private record Sample(long switches, long nanos) {}

    private record Warm(long switches, String ended) {}

    private final Settings settings;
    private final Meter meter;
    private final long residentBefore;
    private final long residentAfter;
    private final LongConsumer rounds;
    private final Warm warm;
    private final List<Sample> samples;
    private long kernel;
    private long resumes;
    private long copies;

    /** Lets each task run once, and warms up. */
    Protocol(Settings settings, Meter meter, long residentBefore, LongConsumer rounds) {
        this.settings = settings;
        this.meter = meter;
        this.residentBefore = residentBefore;
        this.rounds = rounds;
        rounds.accept(1);
        residentAfter = residentBytes();
        warm = warmUp(settings, this::batch);
        samples = new ArrayList<>(settings.batches());
    }

    private Sample batch() {
        long counted = meter.made();
        long start = System.nanoTime();
        rounds.accept(settings.batch() / settings.tasks());
        long nanos = System.nanoTime() - start;
        return new Sample(meter.made() - counted, nanos);
    }

    /** Runs so many batches that count. */
    private void sample(int batches) throws IOException {
        long kernelBefore = hasThreads() ? kernelSwitches() : 0;
        long resumesBefore = meter.sum();
        long copiesBefore = meter.copies();
        for (; batches > 0; batches--) samples.add(batch());
        resumes += meter.sum() - resumesBefore;
        copies += meter.copies() - copiesBefore;
        if (hasThreads()) kernel += kernelSwitches() - kernelBefore;
    }

    static void measure(Settings settings, Meter meter, long residentBefore, LongConsumer rounds) throws IOException {
        var course = new Protocol(settings, meter, residentBefore, rounds);
        System.gc();
        course.batch();
        course.sample(settings.batches());
        course.print();
    }

    /** Samples courses batch by batch. The others had the caches before each batch, so an eighth of it runs first. */
    static void takeTurns(List<Protocol> courses) throws IOException {
        System.gc();
        int turns = courses.stream().mapToInt(course -> course.settings.batches()).max().orElse(0);
        for (int turn = 0; turn < turns; turn++) {
            for (var course : courses) {
                if (turn >= course.settings.batches()) continue;
                course.rounds.accept(course.settings.batch() / 8 + 1);
                course.sample(1);
            }
        }
        for (var course : courses) course.print();
    }

    /** Times single events, and prints everything. */
    private void print() {
        var pairs = new long[settings.singles()];
        for (int i = 0; i < pairs.length; i++) {
            long start = System.nanoTime();
            pairs[i] = System.nanoTime() - start;
        }
        if (settings.singles() > 0) {
            // The loops that read the clock are compiled again: the first events are discarded.
            meter.time(settings.singles());
            rounds.accept(rounded(settings));
            meter.time(settings.singles());
            rounds.accept(rounded(settings));
        }

        var out = new StringBuilder("tollgate-runtime 1\n");
        out.append("version ").append(System.getProperty("java.vm.name")).append(' ')
                .append(Runtime.version()).append('\n');
        out.append("clock 1 System.nanoTime (CLOCK_MONOTONIC)\n");
        out.append("rss ").append(residentBefore).append(' ').append(residentAfter).append('\n');
        out.append("warm ").append(warm.switches()).append(' ').append(warm.ended()).append('\n');
        for (var sample : samples) {
            out.append("sample ").append(sample.switches()).append(' ').append(sample.nanos()).append('\n');
        }
        for (long pair : pairs) out.append("pair ").append(pair).append('\n');
        for (long single : meter.singles()) out.append("single 1 ").append(single).append('\n');
        out.append("count switches ").append(samples.stream().mapToLong(Sample::switches).sum()).append('\n');
        out.append("count resumes ").append(resumes).append('\n');
        if (hasThreads()) out.append("count kernel ").append(kernel).append('\n');
        if (meter.copies() >= 0) out.append("count copies ").append(copies).append('\n');
        out.append("note ").append(meter.note()).append("\nend\n");
        System.out.print(out);
        System.out.flush();
    }

    /** Whether the tasks are threads, whose switches the kernel counts. */
    private boolean hasThreads() {
        return settings.runtime().equals("java-thread");
    }

    private static long rounded(Settings settings) {
        return (settings.singles() + settings.tasks() - 1) / settings.tasks();
    }

    /** Runs batches until the fastest of eight is at most 2 % faster than that of the eight before, twice. */
    private static Warm warmUp(Settings settings, Supplier<Sample> batch) {
        final int window = 8;
        long began = System.nanoTime();
        long switches = 0;
        long before = 0;
        int calm = 0;
        while (milliseconds(began) < settings.warmMaxMs()) {
            long fastest = Long.MAX_VALUE;
            for (int i = 0; i < window && milliseconds(began) < settings.warmMaxMs(); i++) {
                var sample = batch.get();
                switches += sample.switches();
                fastest = Math.min(fastest, sample.nanos());
            }
            calm = before != 0 && fastest * 100 >= before * 98 ? calm + 1 : 0;
            if (calm >= 2 && milliseconds(began) >= settings.warmMinMs()) return new Warm(switches, "steady");
            before = fastest;
        }
        return new Warm(switches, "limit");
    }

    private static long milliseconds(long began) {
        return (System.nanoTime() - began) / 1_000_000;
    }

    static long residentBytes() {
        // In kilobytes. statm counts pages, whose size Java does not know.
        try (var lines = Files.lines(Path.of("/proc/self/status"))) {
            return lines.filter(line -> line.startsWith("VmRSS:")).map(line -> line.split("\\s+")[1])
                    .mapToLong(Long::parseLong).sum() * 1024;
        } catch (IOException error) {
            throw new IllegalStateException("/proc/self/status cannot be read", error);
        }
    }

    /** Context switches of all threads of this process, voluntary or not. */
    private static long kernelSwitches() throws IOException {
        long sum = 0;
        try (var threads = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
            for (var thread : threads) {
                for (var line : Files.readAllLines(thread.resolve("status"))) {
                    if (line.contains("ctxt_switches:")) sum += Long.parseLong(line.split("\\s+")[1]);
                }
            }
        }
        return sum;
    }

    /** Ends the program with one line instead of figures. */
    static void leave(String line) {
        System.out.print("tollgate-runtime 1\n" + line + "\nend\n");
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
