//! Years and months of the Gregorian calendar.

/// Whether a year has a 29th of February.
pub fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// How many days a month has, from 1 for January on.
pub fn days(year: u32, month: u32) -> Option<u32> {
    match month {
        2 if is_leap(year) => Some(29),
        2 => Some(28),
        4 | 6 | 9 | 11 => Some(30),
        1..=12 => Some(31),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{days, is_leap};

    #[test]
    fn every_fourth_year_is_a_leap_year() {
        assert!(is_leap(2024));
        assert!(!is_leap(2025));
    }

    #[test]
    fn of_centuries_every_fourth_is_one() {
        assert!(is_leap(2000));
        assert!(!is_leap(1900));
    }

    #[test]
    fn months_have_their_days() {
        assert_eq!(days(2024, 2), Some(29));
        assert_eq!(days(2025, 2), Some(28));
        assert_eq!(days(2025, 13), None);
    }
}
