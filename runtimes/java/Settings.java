import java.util.Arrays;
import java.util.Map;
import java.util.stream.Collectors;

/** The parameters. */
record Settings(String runtime, String mechanism, int tasks, int batches, long batch, long warmMinMs, long warmMaxMs,
                int singles) {
    Settings(String[] arguments) {
        this(Arrays.stream(arguments).map(argument -> argument.split("=", 2)).filter(pair -> pair.length == 2)
                .collect(Collectors.toMap(pair -> pair[0], pair -> pair[1])));
    }

    private Settings(Map<String, String> values) {
        this(values.getOrDefault("runtime", ""), values.getOrDefault("mechanism", ""), (int) number(values, "tasks", 2),
                (int) number(values, "batches", 1), number(values, "batch", 2), number(values, "warm_min_ms", 0),
                number(values, "warm_max_ms", 0), (int) number(values, "singles", 0));
        if (tasks < 1 || batch <= 0 || batch % tasks != 0) {
            Protocol.leave("fail batch must be a multiple of tasks");
        }
    }

    private static long number(Map<String, String> values, String key, long otherwise) {
        return values.containsKey(key) ? Long.parseLong(values.get(key)) : otherwise;
    }
}
