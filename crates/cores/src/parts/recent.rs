//! The most recent items of a sequence.

/// A ring of the most recent items; each new item takes the place of the oldest one.
#[derive(Clone, Debug)]
pub(crate) struct Recent<T> {
    /// Their number is a power of two.
    items: Box<[T]>,
    next: usize,
}

impl<T: Copy> Recent<T> {
    /// A ring that keeps at least `len` items, filled with `none`.
    pub(crate) fn new(len: usize, none: T) -> Self {
        Recent { items: vec![none; len.next_power_of_two()].into(), next: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    fn place(&self, back: usize) -> usize {
        self.next.wrapping_sub(back) & (self.items.len() - 1)
    }

    /// The item that was pushed last for `back` = 1, the one before it for 2, and so on.
    #[inline(always)]
    pub(crate) fn back(&self, back: usize) -> T {
        self.items[self.place(back)]
    }

    #[inline(always)]
    pub(crate) fn back_mut(&mut self, back: usize) -> &mut T {
        &mut self.items[self.place(back)]
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, item: T) {
        let place = self.place(0);
        self.items[place] = item;
        self.next = self.next.wrapping_add(1);
    }

    /// Replaces all items.
    pub(crate) fn fill(&mut self, item: T) {
        self.items.fill(item);
    }
}

#[cfg(test)]
mod tests {
    use super::Recent;

    #[test]
    fn a_new_item_takes_the_place_of_the_oldest_one() {
        let mut recent = Recent::new(3, 0);
        (1..=5).for_each(|item| recent.push(item));
        assert_eq!([1, 2, 3, 4].map(|back| recent.back(back)), [5, 4, 3, 2]);
        *recent.back_mut(2) = 9;
        recent.push(6);
        assert_eq!([1, 2, 3, 4].map(|back| recent.back(back)), [6, 5, 9, 3]);
    }
}
