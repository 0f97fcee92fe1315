internal import Foundation
internal import LoadingStorage
internal import StorageSteps

/// Does what a test says to the permanent credentials, in a process of its own: the libraries of the keyring stay in a
/// process for ever, and none may use the keyring of the user that runs the tests.
///
///     keyring-user FOLDER APPLICATION MILLISECONDS
///
/// Orders come line by line over descriptor 3, and each is answered by lines and an empty one.
@main enum KeyringUser {
    static func main() {
        let words = CommandLine.arguments
        guard words.count == 4, let timeout = UInt32(words[3]), let wire = fdopen(3, "r+") else { exit(64) }
        let orders = KeyringOrders(folder: words[1], application: words[2], timeout: timeout)
        while let line = readLine(from: wire) {
            for answer in orders.answers(to: line) { fputs(answer + "\n", wire) }
            fputs("\n", wire)
            fflush(wire)
        }
    }

    private static func readLine(from wire: UnsafeMutablePointer<FILE>) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        var room = 0
        defer { free(text) }
        guard getline(&text, &room, wire) > 0, let text else { return nil }
        return String(cString: text).trimmingCharacters(in: .newlines)
    }
}

/// What the process has, and how it does what is said.
private final class KeyringOrders {
    private final class Messages: @unchecked Sendable {
        // Sendable because this process has one thread that uses it.
        var all: [String] = []
    }

    private let folder: String
    private let application: String
    private let timeout: UInt32
    private let messages = Messages()
    private var credentials: PersistentCredentialStore?

    init(folder: String, application: String, timeout: UInt32) {
        self.folder = folder
        self.application = application
        self.timeout = timeout
        credentials = make()
    }

    private func make() -> PersistentCredentialStore {
        PersistentCredentialStore(
            in: StorageDirectory(path: folder), application: application, timeout: timeout,
            notify: { [messages] in messages.all.append("\($0)") })
    }

    func answers(to line: String) -> [String] {
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        guard let order = words.first, let credentials else { return ["?"] }
        let credential = words.count > 1 ? PersistentCredential(line: words[1]) : nil
        switch (order, credential) {
        case ("load", _): return credentials.load().map(\.line).sorted()
        case ("store", let credential?): return ["\(credentials.apply([.stored(credential)]))"]
        case ("remove", let credential?): return ["\(credentials.apply([.removed(credential.identity)]))"]
        case ("clear", _): return ["\(credentials.apply([.everythingRemoved]))"]
        case ("flush", _): return ["\(credentials.flush())"]
        case ("changes", _): return ["\(credentials.hasExternalChanges())"]
        case ("hold", _): return ["\(credentials.mayHold)"]
        case ("messages", _):
            defer { messages.all = [] }
            return messages.all
        case ("renew", _):
            self.credentials = nil
            self.credentials = make()
            return []
        case ("descriptors", _):
            return entries("/proc/self/fd").compactMap { number in
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)"))
                    .map { "\(number) \($0)" }
            }
        case ("threads", _):
            return entries("/proc/self/task").compactMap { thread in
                try? String(contentsOfFile: "/proc/self/task/\(thread)/comm", encoding: .utf8)
                    .trimmingCharacters(in: .newlines)
            }
        case ("pipes", _):
            var action = sigaction()
            sigaction(SIGPIPE, nil, &action)
            return [action.__sigaction_handler.sa_handler == nil ? "default" : "other"]
        case ("libraries", _):
            // `String(contentsOfFile:)` reads one page of such a file.
            let maps = (try? FileHandle(forReadingAtPath: "/proc/self/maps")?.readToEnd()) ?? Data()
            return [String(decoding: maps, as: UTF8.self).contains("libsecret") ? "libsecret" : "none"]
        default: return ["?"]
        }
    }

    private func entries(_ path: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }
}
