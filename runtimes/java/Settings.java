import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

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

    /** The parameters of each measurement: a value with commas is a list with one for each. */
    static List<Settings> each(String[] arguments) {
        int most = Arrays.stream(arguments).mapToInt(argument -> argument.split(",").length).max().orElse(1);
        return IntStream.range(0, most).mapToObj(at -> new Settings(Arrays.stream(arguments)
                .map(argument -> one(argument, at)).toArray(String[]::new))).toList();
    }

    private static String one(String argument, int at) {
        int value = argument.indexOf('=') + 1;
        var values = argument.substring(value).split(",");
        return argument.substring(0, value) + values[values.length > 1 ? at : 0];
    }

    private static long number(Map<String, String> values, String key, long otherwise) {
        return values.containsKey(key) ? Long.parseLong(values.get(key)) : otherwise;
    }
}
