//! A font for pictures: three pixels by five.

/// The characters from the space to `_`: a digit is a row of three pixels, the first one on top.
#[rustfmt::skip]
const GLYPHS: [u16; 64] = [
    0o00000, 0o22202, 0o55000, 0o57575, 0o36236, 0o51245, 0o25253, 0o22000, //   ! " # $ % & '
    0o12221, 0o42224, 0o05250, 0o02720, 0o00024, 0o00700, 0o00002, 0o11244, // ( ) * + , - . /
    0o75557, 0o26227, 0o71747, 0o71317, 0o55711, 0o74717, 0o74757, 0o71222, // 0 1 2 3 4 5 6 7
    0o75757, 0o75717, 0o02020, 0o02024, 0o12421, 0o07070, 0o42124, 0o71302, // 8 9 : ; < = > ?
    0o75547, 0o25755, 0o65656, 0o34443, 0o65556, 0o74647, 0o74644, 0o34553, // @ A B C D E F G
    0o55755, 0o72227, 0o11152, 0o55655, 0o44447, 0o57755, 0o65555, 0o25552, // H I J K L M N O
    0o65644, 0o25563, 0o65655, 0o34216, 0o72222, 0o55557, 0o55552, 0o55775, // P Q R S T U V W
    0o55255, 0o55222, 0o71247, 0o64446, 0o44211, 0o31113, 0o25000, 0o00007, // X Y Z [ \ ] ^ _
];

/// Pixels of a character: columns, rows.
pub(crate) const SIZE: [usize; 2] = [3, 5];

/// Whether the pixel is lit. Small letters look like capitals, what is not there like a question mark.
pub(crate) fn is_lit(character: char, x: usize, y: usize) -> bool {
    let character = character.to_ascii_uppercase();
    let index = if (' '..='_').contains(&character) { character as usize - ' ' as usize } else { '?' as usize - 32 };
    GLYPHS[index] >> (3 * (SIZE[1] - 1 - y) + (SIZE[0] - 1 - x)) & 1 == 1
}
