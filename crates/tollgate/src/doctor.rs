//! What on this host spoils a measurement.
