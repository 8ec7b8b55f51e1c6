// The empty functions of Loop.java.
#include <jni.h>

JNIEXPORT void JNICALL Java_Loop_down(JNIEnv *env, jclass class) {}

JNIEXPORT void JNICALL Java_Loop_up(JNIEnv *env, jclass class, jint calls) {
    jmethodID callee = (*env)->GetStaticMethodID(env, class, "callee", "()V");
    while (calls-- > 0) (*env)->CallStaticVoidMethod(env, class, callee);
}
