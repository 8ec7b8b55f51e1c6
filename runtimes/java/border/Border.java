import java.nio.file.Path;
import java.util.ArrayList;
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

    /** The calls of a mechanism of JNI; null if there is none of this name. */
    private static LongConsumer jni(String mechanism) {
        return switch (mechanism) {
            case "down" -> calls -> {
                for (; calls > 0; calls--) down();
            };
            case "down-8" -> calls -> {
                for (; calls > 0; calls--) downEight(1, 2, 3, 4, 5, 6, 7, 8);
            };
            case "down-text" -> calls -> {
                for (; calls > 0; calls--) downText(TEXT);
            };
            case "back" -> calls -> {
                for (; calls > 0; calls--) back();
            };
            case "up" -> Border::up;
            case "up-attached" -> Border::upAttached;
            case "up-8" -> Border::upEight;
            case "up-text" -> Border::upText;
            default -> null;
        };
    }

    /** The calls of a mechanism of java.lang.foreign, in a class that older JDKs cannot compile. */
    private static LongConsumer panama(String mechanism) throws ReflectiveOperationException {
        try {
            var find = Class.forName("Panama").getDeclaredMethod("mechanism", String.class);
            return (LongConsumer) find.invoke(null, mechanism);
        } catch (ClassNotFoundException absent) {
            Protocol.leave("skip java.lang.foreign is missing: install a JDK of 22 or newer, and set JAVA_HOME");
            throw absent;
        }
    }

    /** The calls of one mechanism, and what both sides counted of them. */
    private static final class Calls extends Meter {
        private final LongConsumer call;
        private final boolean isCallback;
        private long made;
        private long counted;
        private long copied;

        Calls(LongConsumer call, boolean isCallback) {
            super(1);
            this.call = call;
            this.isCallback = isCallback;
        }

        void make(long calls) {
            long enteredBefore = entered();
            long calledBefore = called;
            long copiedBefore = Border.copied() + copies;
            call.accept(calls);
            made += calls;
            copied += Border.copied() + copies - copiedBefore;
            long inC = entered() - enteredBefore;
            long inJava = called - calledBefore;
            // A callback enters both.
            if (isCallback && inC != inJava) Protocol.leave("fail C counted " + inC + " calls and Java " + inJava);
            counted += isCallback ? inC : inC + inJava;
        }

        @Override
        long sum() {
            return counted;
        }

        @Override
        long made() {
            return made;
        }

        @Override
        long copies() {
            return copied;
        }

        @Override
        String note() {
            return "SerialGC";
        }
    }

    private static Protocol begin(Settings settings) throws Exception {
        var before = Protocol.residentBytes();
        var mechanism = settings.mechanism();
        var call = settings.runtime().equals("panama") ? panama(mechanism) : jni(mechanism);
        if (call == null) Protocol.leave("fail unknown mechanism: " + mechanism);
        var calls = new Calls(call, mechanism.equals("back"));
        return new Protocol(settings, calls, before, calls::make);
    }

    public static void main(String[] arguments) throws Exception {
        System.load(Path.of("border.so").toAbsolutePath().toString());
        open();
        var courses = new ArrayList<Protocol>();
        for (var settings : Settings.each(arguments)) courses.add(begin(settings));
        Protocol.takeTurns(courses);
        Runtime.getRuntime().halt(0);
    }
}
