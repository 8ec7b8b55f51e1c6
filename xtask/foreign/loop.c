// The functions of Loop.java. The callee counts, as tollgate's does.
#include <jni.h>

static unsigned long entered;

__attribute__((noinline)) static void down(void) { entered++; }

JNIEXPORT void JNICALL Java_Loop_down(JNIEnv *env, jclass class) { down(); }

JNIEXPORT void JNICALL Java_Loop_up(JNIEnv *env, jclass class, jint calls) {
    jmethodID callee = (*env)->GetStaticMethodID(env, class, "callee", "()V");
    while (calls-- > 0) (*env)->CallStaticVoidMethod(env, class, callee);
}
