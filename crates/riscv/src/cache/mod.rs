//! Caches: their contents, what they evict, and why an access missed.
//!
//! [`Cache`] is the model: a [`Geometry`], a [`Policy`], a [`WritePolicy`], one call for each access, which
//! returns its effect. It does not model time: the caller decides what a miss costs. A TLB is a cache whose lines are
//! pages.
//!
//! Three analyses of a stream of accesses need no choice of a cache first: [`Distances`] gives the misses of a
//! fully associative LRU cache of every size in one pass, [`Causes`] splits the misses of one cache into
//! compulsory, capacity and conflict, and [`Sweep`] counts the misses of many geometries at once.
//!
//! ```
//! use tollgate_riscv::cache::{Cache, Policy, WritePolicy};
//! // Eight lines of eight bytes: a loop of 56 bytes fits, and is missed once.
//! let mut icache = Cache::new("8:1:8".parse().unwrap(), Policy::Lru, WritePolicy::default()).unwrap();
//! for _ in 0..100 {
//!     for pc in (0x8000_0000_u64..0x8000_0038).step_by(4) {
//!         icache.access(pc, false);
//!     }
//! }
//! assert_eq!((icache.counts().accesses(), icache.counts().misses()), (1400, 7));
//! ```

mod causes;
mod distances;
mod geometry;
mod model;
mod policy;
mod sweep;

pub use causes::{Causes, MissCause, Split};
pub use distances::Distances;
pub use geometry::{CacheError, Geometry};
pub use model::Found;
pub use model::{Cache, Counts, Evicted, Outcome};
pub use policy::{Policy, WritePolicy};
pub use sweep::Sweep;
