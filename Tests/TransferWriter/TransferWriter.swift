internal import BackgroundTransfers
internal import CTestDisk
internal import Foundation
internal import Glibc
internal import LoadingPipeline
internal import LoadingStorage
internal import LoadingTransport
internal import URLLoading

/// Makes transfers with a service in this process, and records what that does to the disk.
///
///     transfer-writer FOLDER LOG BASE
///
/// Tasks 1, 3 and 4 are downloads of BASE/down/N, task 2 is an upload to BASE/up/2, and task 5 an upload that does not
/// begin. Marks in the record: N when command N is committed, 1000 + task when its end was reported, 2000 + task when
/// the acknowledgement of the end is committed, 3000 + task when it is sent.
@main enum TransferWriter {
    static func main() {
        let words = CommandLine.arguments
        guard words.count == 4 else { exit(64) }
        let folder = words[1]
        ctd_record(folder, words[2])
        for name in ["files", "uploads", "spool"] { mkdir(folder + "/" + name, 0o700) }
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { exit(71) }
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        startService(in: folder, ends[1])
        Program(ends[0], folder, words[3]).run()
        _exit(0)
    }

    private static func startService(in folder: String, _ descriptor: Int32) {
        let loop = EventLoops.assign()
        _ = loop.serve()
        loop.post {
            let service = TransferService(
                on: loop,
                folders: ServiceFolders(
                    files: folder + "/files", uploads: folder + "/uploads", spool: folder + "/spool"),
                journal: TransferJournal(in: StorageDirectory(path: folder)), program: "test", syncInterval: 8192,
                makeEnvironment: makeBackgroundEnvironment)
            service.start()
            service.accept(descriptor)
        }
    }
}

/// The program's side of the connection.
private final class Program {
    private let descriptor: Int32
    private let folder: String
    private let base: String
    private var frames = MessageFrames()
    /// The number of the last command that was sent.
    private var sent = 0
    /// The tasks whose last acknowledgement has that number.
    private var acknowledged: [Int: Int] = [:]
    private var unreported: Set = [1, 2, 3, 4]

    init(_ descriptor: Int32, _ folder: String, _ base: String) {
        self.descriptor = descriptor
        self.folder = folder
        self.base = base
    }

    func run() {
        write([.hello(ServiceHello(application: "app")), .attach(SessionDescription(identifier: "s"), again: nil)])
        while next() != .replayed {}
        send((1...5).map { .create(description($0)) })
        send((1...4).map { .resume(task: $0) })
        while !unreported.isEmpty { handle(next()) }
    }

    private func description(_ task: Int) -> TransferDescription {
        let isUpload = task == 2 || task == 5
        var request = TransferRequest(url: "\(base)/\(isUpload ? "up" : "down")/\(task)", folder: "")
        request.identifier = task
        if isUpload {
            request.method = "PUT"
            request.isUpload = true
            request.bodyFile = folder + "/uploads/body-\(task)"
            makeBody(folder + "/uploads/body-\(task)", task)
        }
        return TransferDescription(task: task, kind: isUpload ? .upload : .download, request: request)
    }

    private func makeBody(_ path: String, _ task: Int) {
        let bytes = [UInt8](repeating: UInt8(task), count: 20_000)
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        _ = Glibc.write(file, bytes, bytes.count)
        close(file)
    }

    private func handle(_ notice: ServiceNotice) {
        switch notice {
        case .committed(let number):
            ctd_mark(Int(number))
            for (task, last) in acknowledged where last <= Int(number) {
                acknowledged[task] = nil
                ctd_mark(2000 + task)
                unreported.remove(task)
            }
        case .ended(let task, let end):
            guard case .file = end.outcome else { exit(70) }
            ctd_mark(1000 + task)
            ctd_mark(3000 + task)
            send((task == 2 ? [] : [.acknowledge(task: task, .file)]) + [.acknowledge(task: task, .end)])
            acknowledged[task] = sent
        default: break
        }
    }

    private func send(_ commands: [ServiceCommand]) {
        sent += commands.count
        write(commands)
    }

    private func write(_ commands: [ServiceCommand]) {
        var bytes = Data()
        for command in commands {
            guard let content = try? TransferMessage(command).encoded() else { exit(70) }
            MessageFrames.append(content, to: &bytes)
        }
        guard bytes.withUnsafeBytes({ Glibc.write(descriptor, $0.baseAddress, $0.count) }) == bytes.count else {
            exit(71)
        }
    }

    /// Waits for the next notice.
    private func next() -> ServiceNotice {
        while true {
            if let content = try? frames.next() {
                guard let message = try? TransferMessage<ServiceNotice>(decoding: content) else { exit(70) }
                return message.content
            }
            var bytes = [UInt8](repeating: 0, count: 65_536)
            let count = read(descriptor, &bytes, bytes.count)
            guard count > 0 else { exit(71) }
            bytes.withUnsafeBytes { frames.append(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
    }
}
