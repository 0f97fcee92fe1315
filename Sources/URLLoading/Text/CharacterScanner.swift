/// Composes characters from scalars. A character is complete when the first scalar of the next one is known.
@usableFromInline
package struct CharacterScanner: ByteScanner {
    private var scalars = ScalarScanner()
    /// Detects character boundaries incrementally. Checking a growing `String` would take quadratic time, which a
    /// hostile sender could exploit with many combining marks.
    private var recognizer = Unicode._CharacterRecognizer()
    /// The incomplete character.
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

    /// The character that `scalar` completes, if there is a boundary before it.
    private mutating func append(_ scalar: Unicode.Scalar) -> Character? {
        let complete = recognizer.hasBreak(before: scalar) ? begun.first : nil
        if complete != nil { begun = "" }
        begun.unicodeScalars.append(scalar)
        return complete
    }
}
