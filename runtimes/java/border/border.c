// The other side of Java: plain functions for java.lang.foreign, and those of JNI around them.

#include <jni.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

// Calls that came with the right arguments, and texts that the virtual machine copied.
static uint64_t entered, copied;

void down(void) { entered++; }

int64_t down_eight(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int64_t h) {
    int64_t sum = a + b + c + d + e + f + g + h;
    entered += sum == 36;
    return sum;
}

size_t down_text(const char *text, size_t length) {
    entered += length == 100 && text[length - 1] == 'x';
    return length;
}

void back(void (*callee)(void)) {
    entered++;
    callee();
}

void up(uint64_t calls, void (*callee)(void)) {
    for (uint64_t call = 0; call < calls; call++) callee();
}

void up_eight(uint64_t calls, int64_t (*callee)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t)) {
    for (uint64_t call = 0; call < calls; call++) callee(1, 2, 3, 4, 5, 6, 7, 8);
}

static const char TEXT[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
_Static_assert(sizeof TEXT == 101, "100 bytes and the end");

void up_text(uint64_t calls, void (*callee)(const char *)) {
    for (uint64_t call = 0; call < calls; call++) callee(TEXT);
}

#define JAVA(name) JNICALL Java_Border_##name

static jclass border;
static jmethodID callee, callee_eight, callee_text;

JNIEXPORT void JAVA(open)(JNIEnv *env, jclass class) {
    border = (*env)->NewGlobalRef(env, class);
    callee = (*env)->GetStaticMethodID(env, class, "callee", "()V");
    callee_eight = (*env)->GetStaticMethodID(env, class, "calleeEight", "(JJJJJJJJ)J");
    callee_text = (*env)->GetStaticMethodID(env, class, "calleeText", "(Ljava/lang/String;)V");
}

JNIEXPORT jlong JAVA(entered)(JNIEnv *env, jclass class) { return (jlong)entered; }

JNIEXPORT jlong JAVA(copied)(JNIEnv *env, jclass class) { return (jlong)copied; }

JNIEXPORT void JAVA(down)(JNIEnv *env, jclass class) { down(); }

JNIEXPORT jlong JAVA(downEight)(JNIEnv *env, jclass class, jlong a, jlong b, jlong c, jlong d, jlong e, jlong f, jlong g, jlong h) {
    return down_eight(a, b, c, d, e, f, g, h);
}

JNIEXPORT jlong JAVA(downText)(JNIEnv *env, jclass class, jstring text) {
    jboolean is_copy = JNI_FALSE;
    const char *bytes = (*env)->GetStringUTFChars(env, text, &is_copy);
    if (bytes == NULL) return 0;
    copied += is_copy == JNI_TRUE;
    size_t length = down_text(bytes, (size_t)(*env)->GetStringUTFLength(env, text));
    (*env)->ReleaseStringUTFChars(env, text, bytes);
    return (jlong)length;
}

JNIEXPORT void JAVA(back)(JNIEnv *env, jclass class) {
    entered++;
    (*env)->CallStaticVoidMethod(env, border, callee);
}

JNIEXPORT void JAVA(up)(JNIEnv *env, jclass class, jlong calls) {
    while (calls-- > 0) (*env)->CallStaticVoidMethod(env, border, callee);
}

JNIEXPORT void JAVA(upEight)(JNIEnv *env, jclass class, jlong calls) {
    while (calls-- > 0) {
        (*env)->CallStaticLongMethod(env, border, callee_eight, (jlong)1, (jlong)2, (jlong)3, (jlong)4, (jlong)5,
                                     (jlong)6, (jlong)7, (jlong)8);
    }
}

JNIEXPORT void JAVA(upText)(JNIEnv *env, jclass class, jlong calls) {
    while (calls-- > 0) {
        jstring text = (*env)->NewStringUTF(env, TEXT);
        if (text == NULL) return;
        copied++;
        (*env)->CallStaticVoidMethod(env, border, callee_text, text);
        (*env)->DeleteLocalRef(env, text);
    }
}

struct attached {
    JavaVM *machine;
    jlong calls;
};

// A thread that the virtual machine does not know is attached for each call.
static void *attached(void *of) {
    struct attached *it = of;
    for (; it->calls > 0; it->calls--) {
        JNIEnv *env;
        if ((*it->machine)->AttachCurrentThread(it->machine, (void **)&env, NULL) != JNI_OK) return NULL;
        (*env)->CallStaticVoidMethod(env, border, callee);
        (*it->machine)->DetachCurrentThread(it->machine);
    }
    return NULL;
}

JNIEXPORT void JAVA(upAttached)(JNIEnv *env, jclass class, jlong calls) {
    struct attached it = {.calls = calls};
    pthread_t thread;
    if ((*env)->GetJavaVM(env, &it.machine) != JNI_OK || pthread_create(&thread, NULL, attached, &it) != 0) return;
    pthread_join(thread, NULL);
}
