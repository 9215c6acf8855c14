//! A cipher of counters, which gives random bits: Threefry 2x32 with 20 rounds.
//!
//! Source: Salmon, Moraes, Dror, Shaw, *Parallel random numbers: as easy as 1, 2, 3* (2011).

/// The block of a counter under a key, 64 bits each; the first word is the upper half.
#[must_use]
pub fn threefry(key: i64, counter: i64) -> i64 {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    const PARITY: u32 = 0x1BD1_1BDA;
    let words = |n: i64| [(n.cast_unsigned() >> 32) as u32, n.cast_unsigned() as u32];
    let ([a, b], [mut x, mut y]) = (words(key), words(counter));
    let keys = [a, b, a ^ b ^ PARITY];
    x = x.wrapping_add(keys[0]);
    y = y.wrapping_add(keys[1]);
    for group in 0..5 {
        for rotation in ROTATIONS[group % 2] {
            x = x.wrapping_add(y);
            y = y.rotate_left(rotation) ^ x;
        }
        let next = group + 1;
        x = x.wrapping_add(keys[next % 3]);
        y = y.wrapping_add(keys[(next + 1) % 3]).wrapping_add(next as u32);
    }
    (u64::from(x) << 32 | u64::from(y)).cast_signed()
}
