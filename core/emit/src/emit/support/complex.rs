/// A complex number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Complex {
    /// The real part.
    pub re: f64,
    /// The imaginary part.
    pub im: f64,
}

impl std::ops::Neg for Complex {
    type Output = Complex;
    fn neg(self) -> Complex {
        Complex::new(-self.re, -self.im)
    }
}
impl std::ops::Add for Complex {
    type Output = Complex;
    fn add(self, b: Complex) -> Complex {
        Complex::new(self.re + b.re, self.im + b.im)
    }
}
impl std::ops::AddAssign for Complex {
    fn add_assign(&mut self, b: Complex) {
        *self = *self + b;
    }
}
impl std::ops::Sub for Complex {
    type Output = Complex;
    fn sub(self, b: Complex) -> Complex {
        Complex::new(self.re - b.re, self.im - b.im)
    }
}
impl std::ops::Mul for Complex {
    type Output = Complex;
    fn mul(self, b: Complex) -> Complex {
        Complex::new(self.re * b.re - self.im * b.im, self.re * b.im + self.im * b.re)
    }
}
impl std::ops::Div for Complex {
    type Output = Complex;
    fn div(self, b: Complex) -> Complex {
        let s = inverse_size(b.re.abs().max(b.im.abs()));
        let (a, b) = (Complex::new(self.re * s, self.im * s), Complex::new(b.re * s, b.im * s));
        let square = b.re * b.re + b.im * b.im;
        let (re, im) = (a.re * b.re + a.im * b.im, a.im * b.re - a.re * b.im);
        Complex::new(re / square, im / square)
    }
}

/// A power of two near `1 / x`, by which products are exact; 1 for 0 and what is not finite.
fn inverse_size(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return 1.0;
    }
    let exponent = (x.to_bits() >> 52 & 0x7ff) as i64 - 1023;
    let most = if exponent.abs() < 150 { 126 } else { 1022 };
    f64::from_bits(((1023 - exponent.clamp(-most, most)) as u64) << 52)
}

/// `r (cos angle + i sin angle)`.
fn polar(r: f64, angle: f64) -> Complex {
    let (s, c) = angle.sin_cos();
    Complex::new(r * c, damp(s, r))
}

/// `s h`, and a zero where `s` is zero, even if `h` overflowed.
fn damp(s: f64, h: f64) -> f64 {
    if s == 0.0 { s * sign_of(h) } else { s * h }
}

/// 1 or -1 with the sign of `x`.
fn sign_of(x: f64) -> f64 {
    if x.is_sign_negative() { -1.0 } else { 1.0 }
}

/// The functions take the principal value, with the branch cuts of C99.
#[allow(dead_code)]
impl Complex {
    /// `re + im i`.
    pub fn new(re: f64, im: f64) -> Complex {
        Complex { re, im }
    }
    pub fn abs2(self) -> f64 {
        self.re * self.re + self.im * self.im
    }
    pub fn modulus(self) -> f64 {
        self.re.hypot(self.im)
    }
    pub fn arg(self) -> f64 {
        self.im.atan2(self.re)
    }
    pub fn conj(self) -> Complex {
        Complex::new(self.re, -self.im)
    }
    fn over(self, r: f64) -> Complex {
        Complex::new(self.re / r, self.im / r)
    }
    fn times_i(self) -> Complex {
        Complex::new(-self.im, self.re)
    }
    fn over_i(self) -> Complex {
        Complex::new(self.im, -self.re)
    }
    /// `a b`, but 0 where `b` is exactly zero.
    pub fn scale(self, b: Complex) -> Complex {
        if b.re == 0.0 && b.im == 0.0 { Complex::default() } else { self * b }
    }
    /// `a`, but 0 where `b` is exactly zero.
    pub fn guard(self, b: Complex) -> Complex {
        if b.re == 0.0 && b.im == 0.0 { Complex::default() } else { self }
    }
    pub fn recip(self) -> Complex {
        let square = self.abs2();
        if square.is_normal() {
            self.conj().over(square)
        } else {
            self.conj().over(self.modulus()).over(self.modulus())
        }
    }
    pub fn sqrt(self) -> Complex {
        let (x, y) = (self.re, self.im);
        if y == 0.0 {
            return match (x >= 0.0, y.is_sign_negative()) {
                (true, _) => Complex::new(x.sqrt(), y),
                (false, false) => Complex::new(0.0, (-x).sqrt()),
                (false, true) => Complex::new(0.0, -(-x).sqrt()),
            };
        }
        let r = self.modulus() * 0.5;
        if x >= 0.0 {
            let re = (r + x * 0.5).sqrt();
            Complex::new(re, y * 0.5 / re)
        } else {
            let im = (r - x * 0.5).sqrt();
            let im = if y.is_sign_negative() { -im } else { im };
            Complex::new(y * 0.5 / im, im)
        }
    }
    pub fn cbrt(self) -> Complex {
        polar(self.modulus().cbrt(), self.arg() * (1.0 / 3.0))
    }
    pub fn exp(self) -> Complex {
        polar(self.re.exp(), self.im)
    }
    pub fn exp_m1(self) -> Complex {
        let (x, y) = (self.re, self.im);
        if x < -0.5 {
            return self.exp() - Complex::new(1.0, 0.0);
        }
        let s = (y * 0.5).sin();
        Complex::new(x.exp_m1() * y.cos() - s * s * 2.0, damp(y.sin(), x.exp()))
    }
    pub fn ln(self) -> Complex {
        let (x, y, r) = (self.re, self.im, self.modulus());
        let ln_r = if (0.5..2.0).contains(&r) {
            let (big, small) = if x.abs() >= y.abs() { (x, y) } else { (y, x) };
            ((big - 1.0) * (big + 1.0) + small * small).ln_1p() * 0.5
        } else {
            r.ln()
        };
        Complex::new(ln_r, self.arg())
    }
    pub fn ln_1p(self) -> Complex {
        let (x, y) = (self.re, self.im);
        let shifted = Complex::new(1.0 + x, y);
        if x.abs().max(y.abs()) > 0.5 {
            return shifted.ln();
        }
        let excess = x * (2.0 + x) + y * y;
        Complex::new(excess.ln_1p() * 0.5, y.atan2(shifted.re))
    }
    pub fn log2(self) -> Complex {
        self.ln().over(2f64.ln())
    }
    pub fn log10(self) -> Complex {
        self.ln().over(10f64.ln())
    }
    pub fn sin(self) -> Complex {
        let (s, c) = self.re.sin_cos();
        Complex::new(damp(s, self.im.cosh()), c * self.im.sinh())
    }
    pub fn cos(self) -> Complex {
        let (s, c) = self.re.sin_cos();
        Complex::new(c * self.im.cosh(), -damp(s, self.im.sinh()))
    }
    pub fn tan(self) -> Complex {
        self.times_i().tanh().over_i()
    }
    fn sqrt_one_minus(self) -> Complex {
        Complex::new(1.0 - self.re, -self.im).sqrt()
    }
    fn sqrt_one_plus(self) -> Complex {
        Complex::new(1.0 + self.re, self.im).sqrt()
    }
    pub fn asin(self) -> Complex {
        let (p, q) = (self.sqrt_one_minus(), self.sqrt_one_plus());
        Complex::new(self.re.atan2(p.re * q.re - p.im * q.im), (p.re * q.im - p.im * q.re).asinh())
    }
    pub fn acos(self) -> Complex {
        let (p, q) = (self.sqrt_one_minus(), self.sqrt_one_plus());
        Complex::new(p.re.atan2(q.re) * 2.0, (q.re * p.im - q.im * p.re).asinh())
    }
    pub fn atan(self) -> Complex {
        self.times_i().atanh().over_i()
    }
    pub fn sinh(self) -> Complex {
        let (s, c) = self.im.sin_cos();
        Complex::new(self.re.sinh() * c, damp(s, self.re.cosh()))
    }
    pub fn cosh(self) -> Complex {
        let (s, c) = self.im.sin_cos();
        Complex::new(self.re.cosh() * c, damp(s, self.re.sinh()))
    }
    pub fn tanh(self) -> Complex {
        let sign = sign_of(self.re);
        let exponent = self.re * -2.0 * sign;
        let (e, defect) = (exponent.exp(), -exponent.exp_m1());
        let (s, c) = self.im.sin_cos();
        let four_e_cos = e * c * 4.0;
        let denominator = defect * defect + four_e_cos * c;
        Complex::new(sign * defect * (1.0 + e), four_e_cos * s).over(denominator)
    }
    pub fn asinh(self) -> Complex {
        self.times_i().asin().over_i()
    }
    pub fn acosh(self) -> Complex {
        let p = Complex::new(self.re - 1.0, self.im).sqrt();
        let q = self.sqrt_one_plus();
        Complex::new((p.re * q.re + p.im * q.im).asinh(), p.im.atan2(q.re) * 2.0)
    }
    pub fn atanh(self) -> Complex {
        let (x, y) = (self.re, self.im);
        let sign = sign_of(x);
        let size = x * sign;
        let distance = (1.0 - size).hypot(y);
        let ratio = size * 4.0 / distance / distance;
        let cosine = (1.0 - x) * (1.0 + x) - y * y;
        Complex::new(sign * ratio.ln_1p() * 0.25, (y * 2.0).atan2(cosine) * 0.5)
    }
    fn product(self, mut n: u64) -> Complex {
        let (mut power, mut square) = (None, self);
        while n > 0 {
            if n % 2 == 1 {
                power = Some(power.map_or(square, |power: Complex| power * square));
            }
            n /= 2;
            if n > 0 {
                square = square * square;
            }
        }
        power.unwrap_or(Complex::new(1.0, 0.0))
    }
    pub fn powi(self, n: i64) -> Complex {
        let power = self.product(n.unsigned_abs());
        if n >= 0 {
            power
        } else if power.re.is_finite() && power.im.is_finite() {
            power.recip()
        } else {
            self.recip().product(n.unsigned_abs())
        }
    }
    pub fn powf(self, w: Complex) -> Complex {
        if w.im == 0.0 && w.re.trunc() == w.re && w.re.abs() < 2147483648.0 {
            return self.powi(w.re as i64);
        }
        if self.re == 0.0 && self.im == 0.0 && w.re > 0.0 {
            let p = 0.5 * (w.re + w.re.ceil() - 1.0);
            return Complex::new(self.re.powf(p), self.im.powf(p));
        }
        (self.ln() * w).exp()
    }
}
