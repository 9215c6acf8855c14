//! Bits and subspaces.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use ketgrad_core::basis::{
    BasisError, MAX_QUBITS, bcomspace, bitstring, bmask, bsubspace, deposit, gather_bits, log2i,
    odd, scatter_bits,
};
use proptest::prelude::*;

macro_rules! log2i_of_every_power {
    ($($T:ident $powers:expr;)*) => {$(
        for k in 0..$powers {
            let power: $T = 1 << k;
            assert_eq!(log2i(power), Ok(k), "{} as {}", power, stringify!($T));
            // The neighbours of a power from 4 on are none.
            if k >= 2 {
                assert!(log2i(power - 1).is_err() && log2i(power + 1).is_err(), "beside {}", power);
            }
        }
    )*};
}

#[test]
fn log2i_takes_every_power_of_every_width() {
    log2i_of_every_power! {
        u8 8; u16 16; u32 32; u64 64; u128 128; usize usize::BITS;
        i8 7; i16 15; i32 31; i64 63; i128 127; isize isize::BITS - 1;
    }
}

macro_rules! log2i_refuses {
    ($($T:ident $($x:expr),*;)*) => {$($(
        let x: $T = $x;
        let error = log2i(x).unwrap_err();
        assert_eq!(error, BasisError::NotAPowerOfTwo { given: x.to_string() });
        assert_eq!(error.to_string(), format!("{} is not a power of two", x));
    )*)*};
}

#[test]
fn log2i_says_what_is_wrong_with_other_numbers() {
    log2i_refuses! {
        u8 0, 3, u8::MAX; u16 0, 12, u16::MAX; u32 0, 100, u32::MAX; u64 0, u64::MAX; u128 0, u128::MAX; usize 0, 6;
        i8 0, -1, -2, i8::MIN, i8::MAX; i16 -4, i16::MIN; i32 -8, i32::MIN; i64 0, i64::MIN;
        i128 -1, i128::MIN, i128::MAX; isize -16, isize::MIN;
    }
}

macro_rules! bmask_of {
    ($($T:ident)*) => {$(
        let bits = $T::BITS as usize;
        assert_eq!(bmask::<$T>([]), Ok(0));
        assert_eq!(bmask::<$T>([bits - 1]), Ok(1 << (bits - 1)), "a single position");
        assert_eq!(bmask::<$T>(0..bits), Ok($T::MAX), "a range");
        assert_eq!(bmask::<$T>(1..=3), Ok(0b1110), "an inclusive range");
        assert_eq!(bmask::<$T>((0..bits).step_by(2)), Ok($T::MAX / 3), "any iterator");
        assert_eq!(bmask::<$T>(vec![2, 0, 2]), Ok(0b101), "a position that comes twice counts once");
        assert_eq!(bmask::<$T>([0, bits]), Err(BasisError::OutOfRange { given: bits, available: bits }));
        assert!(bmask::<$T>([usize::MAX]).is_err());
    )*};
}

#[test]
fn bmask_takes_ranges_iterators_and_positions_in_every_width() {
    bmask_of!(u8 u16 u32 u64 u128 usize);
}

#[test]
fn subspaces_count_positions_from_zero() {
    // The bits that are free beside positions 1, 3 and 4, if they were counted from 1.
    let free = bsubspace(5, [1, 3, 4].map(|p| p - 1)).unwrap();
    assert_eq!(free.to_string(), "x00x0");
    let bits: Vec<String> = free.into_iter().map(|i| bitstring(i, 5)).collect();
    assert_eq!(bits, ["00000", "00010", "10000", "10010"]);
    let offsets = bcomspace(5, [0, 2, 3]).unwrap();
    assert_eq!(offsets.to_string(), "0xx0x");
    assert_eq!(format!("{offsets:?}"), "BitSubspace(0xx0x)");
    assert_eq!(offsets.iter().collect::<Vec<_>>(), [0, 1, 4, 5, 8, 9, 12, 13]);
}

#[test]
fn subspaces_refuse_bad_positions() {
    assert_eq!(bsubspace(3, [3]), Err(BasisError::OutOfRange { given: 3, available: 3 }));
    assert_eq!(bcomspace(3, [1, 1]), Err(BasisError::Repeated { given: 1 }));
    assert_eq!(
        bsubspace(MAX_QUBITS + 1, []),
        Err(BasisError::TooManyQubits { given: MAX_QUBITS + 1 })
    );
    let all = bsubspace(MAX_QUBITS, []).unwrap();
    assert_eq!(all.len(), 1 << MAX_QUBITS);
    assert_eq!(
        all.get(all.len() - 1),
        Some(all.len() - 1),
        "random access does not need the others"
    );
    assert_eq!(all.get(all.len()), None);
    assert_eq!(bsubspace(0, []).unwrap().iter().collect::<Vec<_>>(), [0]);
}

proptest! {
    #[test]
    fn sums_cover_the_space_exactly_once(n in 0usize..9, chosen in any::<u16>()) {
        let positions: Vec<usize> = (0..n).filter(|q| chosen >> q & 1 == 1).collect();
        let (free, offsets) = (bsubspace(n, positions.clone()).unwrap(), bcomspace(n, positions.clone()).unwrap());
        prop_assert_eq!(free.len() * offsets.len(), 1 << n);
        let mut seen = vec![0; 1 << n];
        for i in free {
            prop_assert!(positions.iter().all(|q| i >> q & 1 == 0));
            for o in offsets {
                seen[i + o] += 1;
            }
        }
        prop_assert!(seen.into_iter().all(|count| count == 1));
    }

    #[test]
    fn indexing_agrees_with_iterating(n in 0usize..12, chosen in any::<u16>()) {
        let space = bsubspace(n, (0..n).filter(|q| chosen >> q & 1 == 1)).unwrap();
        let walked: Vec<usize> = space.iter().collect();
        prop_assert_eq!(walked.len(), space.len());
        prop_assert!(walked.windows(2).all(|w| w[0] < w[1]), "ascending");
        let fetched: Vec<usize> = (0..space.len()).map(|i| space.get(i).unwrap()).collect();
        prop_assert_eq!(&walked, &fetched);
        prop_assert_eq!(space.get(space.len()), None);
        // What is printed has an x where a bit varies.
        let pattern: String = (0..n).rev().map(|q| if space.free_mask() >> q & 1 == 1 { 'x' } else { '0' }).collect();
        prop_assert_eq!(space.to_string(), pattern);
    }

    #[test]
    fn deposit_places_bit_after_bit(bits in any::<usize>(), mask in any::<usize>()) {
        let mut expected = 0;
        for (k, q) in (0..usize::BITS).filter(|q| mask >> q & 1 == 1).enumerate() {
            expected |= (bits >> k & 1) << q;
        }
        prop_assert_eq!(deposit(bits, mask), expected);
    }

    #[test]
    fn gathered_bits_are_those_at_the_positions_in_order(
        bits in any::<usize>(),
        positions in Just((0..usize::BITS as usize).collect::<Vec<_>>()).prop_shuffle(),
        len in 0..=usize::BITS as usize,
    ) {
        let positions = &positions[..len];
        // Digit by digit, as texts: bit q is the digit q from the right.
        let digit = |x: usize, q: usize| format!("{x:0128b}").chars().rev().nth(q);
        let gathered = gather_bits(bits, positions);
        for k in 0..usize::BITS as usize {
            let expected = positions.get(k).map_or(Some('0'), |q| digit(bits, *q));
            prop_assert_eq!(digit(gathered, k), expected);
        }
        let scattered = scatter_bits(bits, positions);
        for q in 0..usize::BITS as usize {
            let k = positions.iter().position(|p| *p == q);
            prop_assert_eq!(digit(scattered, q), k.map_or(Some('0'), |k| digit(bits, k)));
        }
        prop_assert_eq!(scatter_bits(bits, positions.iter().copied()), scattered);
    }

    #[test]
    fn a_parity_is_that_of_the_digits(bits in any::<u64>()) {
        let ones = format!("{bits:b}").matches('1').count();
        prop_assert_eq!(odd(bits), ones % 2 == 1);
        prop_assert_eq!(odd(bits & 0xff), odd(bits as u8));
    }
}
