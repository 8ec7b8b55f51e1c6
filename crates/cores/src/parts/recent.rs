//! The most recent items of a sequence.

/// A ring of the most recent items; each new item takes the place of the oldest one. `N` is a power of two.
#[derive(Clone, Debug)]
pub(crate) struct Recent<T, const N: usize> {
    items: [T; N],
    next: usize,
}

impl<T: Copy, const N: usize> Recent<T, N> {
    /// A ring that is filled with `none`.
    pub(crate) fn new(none: T) -> Self {
        Recent { items: [none; N], next: 0 }
    }

    #[inline(always)]
    fn place(&self, back: usize) -> usize {
        self.next.wrapping_sub(back) % N
    }

    /// The item that was pushed last for `back` = 1, the one before it for 2, and so on up to `N`.
    #[inline(always)]
    pub(crate) fn back(&self, back: usize) -> T {
        self.items[self.place(back)]
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, item: T) {
        self.items[self.place(0)] = item;
        self.next = self.next.wrapping_add(1);
    }

    /// Replaces the last `count` items.
    pub(crate) fn replace(&mut self, count: usize, item: T) {
        for back in 1..=count {
            self.items[self.place(back)] = item;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Recent;

    #[test]
    fn a_new_item_takes_the_place_of_the_oldest_one() {
        let mut recent = Recent::<_, 4>::new(0);
        (1..=5).for_each(|item| recent.push(item));
        assert_eq!([1, 2, 3, 4].map(|back| recent.back(back)), [5, 4, 3, 2]);
        recent.replace(2, 9);
        recent.push(6);
        assert_eq!([1, 2, 3, 4].map(|back| recent.back(back)), [6, 9, 9, 3]);
    }
}
