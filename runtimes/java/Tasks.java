import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongConsumer;

/** A ring of threads, platform or virtual. Task 0 is the thread that measures. */
final class Tasks {
    private Tasks() {}

    public static void main(String[] arguments) throws ReflectiveOperationException, InterruptedException {
        var settings = new Settings(arguments);
        var threads = settings.runtime().equals("java-virtual") ? virtual() : platform();
        var first = threads.make(() -> run(settings, threads));
        first.start();
        first.join();
        Runtime.getRuntime().halt(0);  // the other tasks never end
    }

    private static void run(Settings settings, Threads threads) {
        try {
            var meter = new Meter(settings.tasks());
            var before = Protocol.residentBytes();
            LongConsumer rounds = switch (settings.mechanism()) {
                case "yield" -> yielding(settings, meter, threads);
                case "queue" -> queue(settings, meter, threads);
                case "park" -> park(settings, meter, threads);
                default -> throw new IllegalArgumentException("unknown mechanism: " + settings.mechanism());
            };
            Protocol.measure(settings, meter, before, rounds);
        } catch (Exception | OutOfMemoryError error) {
            Protocol.leave("fail " + error.getMessage());
        }
    }

    /** Each thread yields to the scheduler's queue. */
    private static LongConsumer yielding(Settings settings, Meter meter, Threads threads) {
        for (int task = 1; task < settings.tasks(); task++) {
            int mine = task;
            threads.make(() -> {
                while (true) {
                    meter.resumed(mine);
                    Thread.yield();
                }
            }).start();
        }
        return rounds -> {
            for (; rounds > 0; rounds--) {
                Thread.yield();
                meter.resumed(0);
            }
        };
    }

    /** A token goes from queue to queue. The queues have no capacity, so each side waits for the other. */
    private static LongConsumer queue(Settings settings, Meter meter, Threads threads) {
        var queues = new ArrayList<SynchronousQueue<String>>();
        for (int task = 0; task < settings.tasks(); task++) queues.add(new SynchronousQueue<>());
        for (int task = 1; task < settings.tasks(); task++) {
            int mine = task;
            var from = queues.get(mine);
            var to = queues.get((mine + 1) % settings.tasks());
            threads.make(() -> {
                while (true) {
                    var token = take(from);
                    meter.resumed(mine);
                    put(to, token);
                }
            }).start();
        }
        return rounds -> {
            for (; rounds > 0; rounds--) {
                put(queues.get(1), "token");
                take(queues.get(0));
                meter.resumed(0);
            }
        };
    }

    /** Each thread gives the turn to the next, unparks it, and parks. */
    private static LongConsumer park(Settings settings, Meter meter, Threads threads) {
        var turn = new Turn(settings.tasks());
        turn.threads.add(Thread.currentThread());
        for (int task = 1; task < settings.tasks(); task++) {
            int mine = task;
            turn.threads.add(threads.make(() -> {
                turn.await(mine);
                while (true) {
                    meter.resumed(mine);
                    turn.pass(mine);
                    turn.await(mine);
                }
            }));
        }
        turn.threads.subList(1, settings.tasks()).forEach(Thread::start);
        return rounds -> {
            for (; rounds > 0; rounds--) {
                turn.pass(0);
                turn.await(0);
                meter.resumed(0);
            }
        };
    }

    private static final class Turn {
        final List<Thread> threads;
        private volatile int holder;

        Turn(int tasks) {
            threads = new ArrayList<>(tasks);
        }

        void pass(int mine) {
            int next = mine + 1 == threads.size() ? 0 : mine + 1;
            holder = next;
            LockSupport.unpark(threads.get(next));
        }

        void await(int mine) {
            while (holder != mine) LockSupport.park(this);
        }
    }

    private static String take(SynchronousQueue<String> queue) {
        try {
            return queue.take();
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException("interrupted", interrupted);
        }
    }

    private static void put(SynchronousQueue<String> queue, String token) {
        try {
            queue.put(token);
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException("interrupted", interrupted);
        }
    }

    /** Creates threads without starting them. */
    private interface Threads {
        Thread make(Runnable body);
    }

    private static Threads platform() {
        return body -> {
            var thread = new Thread(body);
            thread.setDaemon(true);
            return thread;
        };
    }

    /** Thread.ofVirtual() by reflection, so that a JDK without it still builds the rows of platform threads. */
    private static Threads virtual() throws ReflectiveOperationException {
        if (Runtime.version().feature() < 21) {
            Protocol.leave("skip virtual threads are missing: install a JDK of 21 or newer, and set JAVA_HOME");
        }
        var builder = Thread.class.getMethod("ofVirtual").invoke(null);
        var unstarted = Class.forName("java.lang.Thread$Builder").getMethod("unstarted", Runnable.class);
        return body -> {
            try {
                return (Thread) unstarted.invoke(builder, body);
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
        };
    }
}
