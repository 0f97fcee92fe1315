import Foundation
import URLLoading

/// Prints the heads of requests and responses.
package struct HeadPrinter: Sendable {
    private let style: TextStyle
    private let isFormatted: Bool
    private let isUTF8: Bool

    package init(style: TextStyle, isFormatted: Bool, isUTF8: Bool) {
        self.style = style
        self.isFormatted = isFormatted
        self.isUTF8 = isUTF8
    }

    /// Status line and fields, then an empty line.
    ///
    /// - Parameter reason: The reason phrase on the wire. HTTP/2 and HTTP/3 have none.
    package func responseHead(
        status: Int, version: String = "HTTP/1.1", reason: String = "", fields: [(name: String, value: String)],
        prefix: String = ""
    ) -> String {
        let color: TextStyle.Color =
            switch status {
            case 200..<300: .boldGreen
            case 300..<400: .boldYellow
            case 400...: .boldRed
            default: .bold
            }
        let line = "\(version) \(status) \(clean(reason))".trimmingEnd()
        return block([style.apply(color, line)] + fieldLines(fields), prefix)
    }

    package func requestHead(
        method: String, target: String, version: String? = nil, fields: [(name: String, value: String)],
        prefix: String
    ) -> String {
        let line = [method, target, version].compactMap { $0 }.joined(separator: " ")
        return block([style.apply(.bold, clean(line))] + fieldLines(fields), prefix)
    }

    private func fieldLines(_ fields: [(name: String, value: String)]) -> [String] {
        fields.map { field in
            style.apply(.cyan, clean(field.name)) + ":" + (field.value.isEmpty ? "" : " " + clean(field.value))
        }
    }

    private func block(_ lines: [String], _ prefix: String) -> String {
        let end = isFormatted || !prefix.isEmpty ? "\n" : "\r\n"
        return (lines + [""]).map { (prefix + $0).trimmingEnd() + end }.joined()
    }

    private func clean(_ text: String) -> String {
        isFormatted ? TextSanitizer.clean(text, isUTF8: isUTF8) : text
    }
}

extension HeadPrinter {
    static func fields(of response: HTTPURLResponse) -> [(name: String, value: String)] {
        sorted(
            response.allHeaderFields.compactMap { name, value in
                (name as? String).map { ($0, value as? String ?? "\(value)") }
            })
    }

    static func fields(of request: URLRequest) -> [(name: String, value: String)] {
        sorted((request.allHTTPHeaderFields ?? [:]).map { ($0.key, $0.value) })
    }

    private static func sorted(_ fields: [(String, String)]) -> [(name: String, value: String)] {
        fields.map { (name: $0.0, value: $0.1) }.sorted { $0.name.lowercased() < $1.name.lowercased() }
    }
}

extension String {
    fileprivate func trimmingEnd() -> String {
        var text = self[...]
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
