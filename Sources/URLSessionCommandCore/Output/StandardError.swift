/// Messages for people. Nothing can be done when even they cannot be written.
enum StandardError {
    static func write(_ text: String) {
        try? OutputDescriptor.standardError.write(text)
    }
}
