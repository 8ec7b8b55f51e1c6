import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongConsumer;

/** The same calls through java.lang.foreign. The compiler sees through handles that are static and final only. */
final class Panama {
    private Panama() {}

    private static final Linker LINKER = Linker.nativeLinker();
    private static final SymbolLookup LIBRARY =
            SymbolLookup.libraryLookup(Path.of("border.so").toAbsolutePath(), Arena.global());
    private static final MemoryLayout[] INTEGERS =
            Collections.nCopies(8, JAVA_LONG).toArray(MemoryLayout[]::new);

    private static final FunctionDescriptor NOTHING = FunctionDescriptor.ofVoid();
    private static final FunctionDescriptor EIGHT = FunctionDescriptor.of(JAVA_LONG, INTEGERS);
    private static final FunctionDescriptor POINTER = FunctionDescriptor.ofVoid(ADDRESS);
    private static final FunctionDescriptor LOOP = FunctionDescriptor.ofVoid(JAVA_LONG, ADDRESS);

    private static final MethodHandle DOWN = function("down", NOTHING);
    private static final MethodHandle DOWN_CRITICAL = function("down", NOTHING, Linker.Option.critical(false));
    private static final MethodHandle DOWN_EIGHT = function("down_eight", EIGHT);
    private static final MethodHandle DOWN_TEXT =
            function("down_text", FunctionDescriptor.of(JAVA_LONG, ADDRESS, JAVA_LONG));
    private static final MethodHandle BACK = function("back", POINTER);
    private static final MethodHandle UP = function("up", LOOP);
    private static final MethodHandle UP_EIGHT = function("up_eight", LOOP);
    private static final MethodHandle UP_TEXT = function("up_text", LOOP);

    private static MethodHandle function(String name, FunctionDescriptor of, Linker.Option... options) {
        return LINKER.downcallHandle(LIBRARY.find(name).orElseThrow(), of, options);
    }

    /** A pointer with which C calls a method of {@link Border} or of this class. */
    private static MemorySegment stub(Class<?> in, String name, MethodType type, FunctionDescriptor of)
            throws ReflectiveOperationException {
        return LINKER.upcallStub(MethodHandles.lookup().findStatic(in, name, type), of, Arena.global());
    }

    static void calleeText(MemorySegment text) {
        Border.copies++;
        Border.calleeText(text.reinterpret(101).getString(0));
    }

    /** A call that throws only what no caller can handle. */
    private interface Call {
        void run() throws Throwable;
    }

    private static void checked(Call call) {
        try {
            call.run();
        } catch (Throwable error) {
            throw new IllegalStateException(error);
        }
    }

    static Map<String, LongConsumer> mechanisms() throws ReflectiveOperationException {
        var nothing = MethodType.methodType(void.class);
        var eight = MethodType.methodType(long.class, Collections.nCopies(8, long.class));
        var callee = stub(Border.class, "callee", nothing, NOTHING);
        var calleeEight = stub(Border.class, "calleeEight", eight, EIGHT);
        var calleeText =
                stub(Panama.class, "calleeText", MethodType.methodType(void.class, MemorySegment.class), POINTER);
        var ways = new HashMap<String, LongConsumer>();
        ways.put("down", calls -> checked(() -> {
            for (long call = 0; call < calls; call++) DOWN.invokeExact();
        }));
        ways.put("down-critical", calls -> checked(() -> {
            for (long call = 0; call < calls; call++) DOWN_CRITICAL.invokeExact();
        }));
        ways.put("down-8", calls -> checked(() -> {
            for (long call = 0; call < calls; call++) {
                long sum = (long) DOWN_EIGHT.invokeExact(1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L);
                assert sum == 36;
            }
        }));
        ways.put("down-text", calls -> checked(() -> {
            for (long call = 0; call < calls; call++) {
                try (var arena = Arena.ofConfined()) {
                    Border.copies++;
                    long length = (long) DOWN_TEXT.invokeExact(arena.allocateFrom(Border.TEXT), 100L);
                    assert length == 100;
                }
            }
        }));
        ways.put("back", calls -> checked(() -> {
            for (long call = 0; call < calls; call++) BACK.invokeExact(callee);
        }));
        ways.put("up", calls -> checked(() -> {
            UP.invokeExact(calls, callee);
        }));
        ways.put("up-8", calls -> checked(() -> {
            UP_EIGHT.invokeExact(calls, calleeEight);
        }));
        ways.put("up-text", calls -> checked(() -> {
            UP_TEXT.invokeExact(calls, calleeText);
        }));
        return ways;
    }
}
