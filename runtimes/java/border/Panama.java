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

    // A handle takes milliseconds to link, so each has a class of its own, which is initialized when it is used.
    private static final class Down {
        static final MethodHandle HANDLE = function("down", NOTHING);
    }

    private static final class DownCritical {
        static final MethodHandle HANDLE = function("down", NOTHING, Linker.Option.critical(false));
    }

    private static final class DownEight {
        static final MethodHandle HANDLE = function("down_eight", EIGHT);
    }

    private static final class DownText {
        static final MethodHandle HANDLE =
                function("down_text", FunctionDescriptor.of(JAVA_LONG, ADDRESS, JAVA_LONG));
    }

    private static final class Back {
        static final MethodHandle HANDLE = function("back", POINTER);
        static final MemorySegment CALLEE = callee();
    }

    private static MethodHandle function(String name, FunctionDescriptor of, Linker.Option... options) {
        return LINKER.downcallHandle(LIBRARY.find(name).orElseThrow(), of, options);
    }

    /** A pointer with which C calls a method of {@link Border} or of this class. */
    private static MemorySegment stub(Class<?> in, String name, MethodType type, FunctionDescriptor of) {
        try {
            return LINKER.upcallStub(MethodHandles.lookup().findStatic(in, name, type), of, Arena.global());
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
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

    private static MemorySegment callee() {
        return stub(Border.class, "callee", MethodType.methodType(void.class), NOTHING);
    }

    /** The calls of a mechanism; null if there is none of this name. */
    static LongConsumer mechanism(String name) {
        return switch (name) {
            case "down" -> calls -> checked(() -> {
                for (long call = 0; call < calls; call++) Down.HANDLE.invokeExact();
            });
            case "down-critical" -> calls -> checked(() -> {
                for (long call = 0; call < calls; call++) DownCritical.HANDLE.invokeExact();
            });
            case "down-8" -> calls -> checked(() -> {
                for (long call = 0; call < calls; call++) {
                    long sum = (long) DownEight.HANDLE.invokeExact(1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L);
                    assert sum == 36;
                }
            });
            case "down-text" -> calls -> checked(() -> {
                for (long call = 0; call < calls; call++) {
                    try (var arena = Arena.ofConfined()) {
                        long length = (long) DownText.HANDLE.invokeExact(arena.allocateFrom(Border.TEXT), 100L);
                        assert length == 100;
                    }
                }
            });
            case "back" -> calls -> checked(() -> {
                for (long call = 0; call < calls; call++) Back.HANDLE.invokeExact(Back.CALLEE);
            });
            case "up" -> up("up", callee());
            case "up-8" -> {
                var eight = MethodType.methodType(long.class, Collections.nCopies(8, long.class));
                yield up("up_eight", stub(Border.class, "calleeEight", eight, EIGHT));
            }
            case "up-text" -> {
                var text = MethodType.methodType(void.class, MemorySegment.class);
                var callee = stub(Panama.class, "calleeText", text, POINTER);
                var loop = function("up_text", FunctionDescriptor.ofVoid(JAVA_LONG, ADDRESS, ADDRESS));
                var bytes = Arena.global().allocateFrom(Border.TEXT);
                yield calls -> checked(() -> {
                    loop.invokeExact(calls, callee, bytes);
                });
            }
            default -> null;
        };
    }

    /** A loop of C, which calls the stub. */
    private static LongConsumer up(String name, MemorySegment callee) {
        var loop = function(name, LOOP);
        return calls -> checked(() -> {
            loop.invokeExact(calls, callee);
        });
    }
}
