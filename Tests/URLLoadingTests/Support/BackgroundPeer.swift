import BackgroundTransfers
import Foundation
import Glibc
import LoadingPipeline
import TestSupport

/// A client of the background service that sends and receives single messages, and blocks meanwhile.
final class BackgroundPeer {
    /// Another message was expected.
    struct Unexpected: Error {}

    private let descriptor: Int32
    private var frames = MessageFrames()
    private var isClosed = false

    /// Takes ownership of the descriptor.
    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close() }

    func close() {
        if isClosed { return }
        isClosed = true
        Glibc.close(descriptor)
    }

    func send(_ commands: ServiceCommand...) throws { try send(commands) }

    /// With one write.
    func send(_ commands: [ServiceCommand]) throws {
        var bytes = Data()
        for command in commands { MessageFrames.append(try TransferMessage(command).encoded(), to: &bytes) }
        let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard count == bytes.count else { throw TestSupport.POSIXFailure("write") }
    }

    /// The next notice; nil at the end of the connection.
    func next() throws -> ServiceNotice? {
        while true {
            if let content = try frames.next() { return try TransferMessage<ServiceNotice>(decoding: content).content }
            var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&ready, 1, 10_000) == 1 else { throw TestSupport.POSIXFailure("poll") }
            var bytes = [UInt8](repeating: 0, count: 65536)
            let count = read(descriptor, &bytes, bytes.count)
            if count == 0 { return nil }
            guard count > 0 else { throw TestSupport.POSIXFailure("read") }
            bytes.withUnsafeBytes { frames.append(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
    }
}

extension BackgroundPeer {
    /// The state of the session to which it attaches, the tasks, and the ends that were not acknowledged completely.
    func attached() throws -> (state: SessionState, tasks: [Int], ends: [Int: TransferEnd]) {
        guard case .attached(let state)? = try next() else { throw Unexpected() }
        var tasks: [Int] = []
        var ends: [Int: TransferEnd] = [:]
        while let notice = try next() {
            switch notice {
            case .task(let state): tasks.append(state.description.task)
            case .ended(let task, let end): ends[task] = end
            case .replayed: return (state, tasks, ends)
            default: break
            }
        }
        throw Unexpected()
    }

    /// The notices up to one for which `isLast` is true.
    func notices(until isLast: (ServiceNotice) -> Bool) throws -> [ServiceNotice] {
        var notices: [ServiceNotice] = []
        while let notice = try next() {
            notices.append(notice)
            if isLast(notice) { return notices }
        }
        throw Unexpected()
    }
}

extension BackgroundServiceInProcess {
    /// A session object with that number, which asks for a session.
    func attach(
        _ owner: UInt64, again: UInt64? = nil, identifier: String = "test", launch: LaunchMethod? = nil
    ) throws -> BackgroundPeer {
        let peer = BackgroundPeer(try connect().get())
        var description = SessionDescription(identifier: identifier)
        (description.owner, description.launch) = (owner, launch)
        try peer.send(.hello(ServiceHello(application: "app")), .attach(description, again: again))
        guard case .welcome? = try peer.next() else { throw BackgroundPeer.Unexpected() }
        return peer
    }
}

extension ServiceCommand {
    /// A new download from a server that does not exist, or an upload to it.
    static func create(_ task: Int, body: String? = nil, boot: String? = nil) -> ServiceCommand {
        var request = TransferRequest(url: "http://localhost:1/", folder: "")
        request.bodyFile = body
        request.isUpload = body != nil
        var description = TransferDescription(task: task, kind: body == nil ? .download : .upload, request: request)
        description.bodyBoot = boot
        return .create(description)
    }
}
