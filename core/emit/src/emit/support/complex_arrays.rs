impl Number for Complex {
    fn of(x: f64) -> Complex {
        Complex::new(x, 0.0)
    }
    fn conjugate(self) -> Complex {
        self.conj()
    }
    fn square(self) -> f64 {
        self.abs2()
    }
    fn real_part(self) -> f64 {
        self.re
    }
    fn imaginary_part(self) -> f64 {
        self.im
    }
    fn reciprocal(self) -> Complex {
        self.recip()
    }
}
