import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongConsumer;

/** Calls from Java to C and from C to Java. */
final class Border {
    private Border() {}

    /** Made when the program runs. */
    static final String TEXT = "x".repeat(100);

    /** What C called with the right arguments. */
    private static long called;
    /** Texts that Java copied. */
    static long copies;

    static native void open();

    static native long entered();

    static native long copied();

    static native void down();

    static native long downEight(long a, long b, long c, long d, long e, long f, long g, long h);

    static native long downText(String text);

    static native void back();

    static native void up(long calls);

    static native void upAttached(long calls);

    static native void upEight(long calls);

    static native void upText(long calls);

    static void callee() {
        called++;
    }

    static long calleeEight(long a, long b, long c, long d, long e, long f, long g, long h) {
        long sum = a + b + c + d + e + f + g + h;
        if (sum == 36) called++;
        return sum;
    }

    static void calleeText(String text) {
        if (text.length() == 100) called++;
    }

    /** The mechanisms of JNI. */
    private static Map<String, LongConsumer> jni() {
        var ways = new HashMap<String, LongConsumer>();
        ways.put("down", calls -> {
            for (; calls > 0; calls--) down();
        });
        ways.put("down-8", calls -> {
            for (; calls > 0; calls--) downEight(1, 2, 3, 4, 5, 6, 7, 8);
        });
        ways.put("down-text", calls -> {
            for (; calls > 0; calls--) downText(TEXT);
        });
        ways.put("back", calls -> {
            for (; calls > 0; calls--) back();
        });
        ways.put("up", Border::up);
        ways.put("up-attached", Border::upAttached);
        ways.put("up-8", Border::upEight);
        ways.put("up-text", Border::upText);
        return ways;
    }

    /** The mechanisms of java.lang.foreign, in a class that older JDKs cannot compile. */
    @SuppressWarnings("unchecked")
    private static Map<String, LongConsumer> panama() throws ReflectiveOperationException {
        try {
            return (Map<String, LongConsumer>) Class.forName("Panama").getDeclaredMethod("mechanisms").invoke(null);
        } catch (ClassNotFoundException absent) {
            Protocol.leave("skip java.lang.foreign needs a JDK of 22 or newer");
            throw absent;
        }
    }

    /** Both sides' counts. */
    private static final class Calls extends Meter {
        private final boolean isCallback;
        private long made;

        Calls(boolean isCallback) {
            super(1);
            this.isCallback = isCallback;
        }

        @Override
        long sum() {
            if (!isCallback) return entered() + called;
            if (entered() != called) Protocol.leave("fail C counted " + entered() + " calls and Java " + called);
            return called;
        }

        @Override
        long made() {
            return made;
        }

        @Override
        long copies() {
            return copied() + copies;
        }

        @Override
        String note() {
            return "SerialGC";
        }
    }

    public static void main(String[] arguments) throws Exception {
        var settings = new Settings(arguments);
        System.load(Path.of("border.so").toAbsolutePath().toString());
        open();
        var before = Protocol.residentBytes();
        var call = (settings.runtime().equals("panama") ? panama() : jni()).get(settings.mechanism());
        if (call == null) Protocol.leave("fail unknown mechanism: " + settings.mechanism());
        var counts = new Calls(settings.mechanism().equals("back"));
        Protocol.measure(settings, counts, before, calls -> {
            call.accept(calls);
            counts.made += calls;
        });
        Runtime.getRuntime().halt(0);
    }
}
