/// Puts characters together from the scalars of UTF-8. One is complete when the scalar is known that the next begins
/// with.
@usableFromInline
package struct CharacterScanner: ByteScanner {
    private var scalars = ScalarScanner()
    /// Tells from scalar to scalar whether a character ends. Asking a `String` each time would take time in the square
    /// of its length, and a sender chooses how many marks a letter has.
    private var recognizer = Unicode._CharacterRecognizer()
    /// The character that was begun.
    private var begun = ""

    package init() {}

    @usableFromInline
    package mutating func refill(_ bytes: [UInt8]) { scalars.refill(bytes) }

    @usableFromInline
    package mutating func refill(_ byte: UInt8) { scalars.refill(byte) }

    @usableFromInline
    package mutating func next() -> Character? {
        while let scalar = scalars.next() {
            if let complete = append(scalar) { return complete }
        }
        return nil
    }

    @usableFromInline
    package mutating func finish() -> Character? {
        if let scalar = scalars.finish(), let complete = append(scalar) { return complete }
        defer { begun = "" }
        return begun.first
    }

    /// The character that ends before `scalar`, if one does.
    private mutating func append(_ scalar: Unicode.Scalar) -> Character? {
        let complete = recognizer.hasBreak(before: scalar) ? begun.first : nil
        if complete != nil { begun = "" }
        begun.unicodeScalars.append(scalar)
        return complete
    }
}
