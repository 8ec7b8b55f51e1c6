// An addon of Node: what JavaScript calls through Node-API, and what calls JavaScript.

#include <node_api.h>
#include <stddef.h>
#include <stdint.h>

// Calls that came with the right arguments, and texts that Node copied.
static double entered, copied;

#define EIGHT 8
static const char TEXT[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
_Static_assert(sizeof TEXT == 101, "100 bytes and the end");

static napi_value down(napi_env env, napi_callback_info info) {
    entered++;
    return NULL;
}

static napi_value down_eight(napi_env env, napi_callback_info info) {
    napi_value arguments[EIGHT], result;
    size_t count = EIGHT;
    int64_t sum = 0;
    napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
    for (size_t at = 0; at < count; at++) {
        int64_t number = 0;
        napi_get_value_int64(env, arguments[at], &number);
        sum += number;
    }
    entered += sum == 36;
    napi_create_int64(env, sum, &result);
    return result;
}

static napi_value down_text(napi_env env, napi_callback_info info) {
    napi_value argument, result;
    size_t count = 1, length = 0;
    char text[128];
    napi_get_cb_info(env, info, &count, &argument, NULL, NULL);
    copied += napi_get_value_string_utf8(env, argument, text, sizeof text, &length) == napi_ok;
    entered += length == 100 && text[99] == 'x';
    napi_create_uint32(env, (uint32_t)length, &result);
    return result;
}

static napi_value back(napi_env env, napi_callback_info info) {
    napi_value callee, nothing;
    size_t count = 1;
    napi_get_cb_info(env, info, &count, &callee, NULL, NULL);
    napi_get_undefined(env, &nothing);
    entered++;
    napi_call_function(env, nothing, callee, 0, NULL, NULL);
    return NULL;
}

// The loops that call JavaScript so many times. The handles of each call are closed after it.

static int64_t loop(napi_env env, napi_callback_info info, napi_value *callee, napi_value *nothing) {
    napi_value arguments[2];
    size_t count = 2;
    int64_t calls = 0;
    napi_get_cb_info(env, info, &count, arguments, NULL, NULL);
    napi_get_value_int64(env, arguments[0], &calls);
    *callee = arguments[1];
    napi_get_undefined(env, nothing);
    return calls;
}

static napi_value up(napi_env env, napi_callback_info info) {
    napi_value callee, nothing;
    int64_t calls = loop(env, info, &callee, &nothing);
    for (napi_handle_scope scope; calls > 0; calls--) {
        napi_open_handle_scope(env, &scope);
        napi_call_function(env, nothing, callee, 0, NULL, NULL);
        napi_close_handle_scope(env, scope);
    }
    return NULL;
}

static napi_value up_eight(napi_env env, napi_callback_info info) {
    napi_value callee, nothing, numbers[EIGHT];
    int64_t calls = loop(env, info, &callee, &nothing);
    for (napi_handle_scope scope; calls > 0; calls--) {
        napi_open_handle_scope(env, &scope);
        for (int at = 0; at < EIGHT; at++) napi_create_int64(env, at + 1, &numbers[at]);
        napi_call_function(env, nothing, callee, EIGHT, numbers, NULL);
        napi_close_handle_scope(env, scope);
    }
    return NULL;
}

static napi_value up_text(napi_env env, napi_callback_info info) {
    napi_value callee, nothing, text;
    int64_t calls = loop(env, info, &callee, &nothing);
    for (napi_handle_scope scope; calls > 0; calls--) {
        napi_open_handle_scope(env, &scope);
        copied += napi_create_string_utf8(env, TEXT, 100, &text) == napi_ok;
        napi_call_function(env, nothing, callee, 1, &text, NULL);
        napi_close_handle_scope(env, scope);
    }
    return NULL;
}

static napi_value counts(napi_env env, napi_callback_info info) {
    napi_value both, number;
    napi_create_array(env, &both);
    napi_create_double(env, entered, &number);
    napi_set_element(env, both, 0, number);
    napi_create_double(env, copied, &number);
    napi_set_element(env, both, 1, number);
    return both;
}

NAPI_MODULE_INIT() {
    static const struct {
        const char *name;
        napi_callback function;
    } functions[] = {
        {"down", down}, {"downEight", down_eight}, {"downText", down_text}, {"back", back},
        {"up", up},     {"upEight", up_eight},     {"upText", up_text},     {"counts", counts},
    };
    for (size_t at = 0; at < sizeof functions / sizeof *functions; at++) {
        napi_value function;
        napi_create_function(env, functions[at].name, NAPI_AUTO_LENGTH, functions[at].function, NULL, &function);
        napi_set_named_property(env, exports, functions[at].name, function);
    }
    return exports;
}
