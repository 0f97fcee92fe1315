internal import Foundation

/// The descriptors and threads of this process, as the kernel lists them.
package struct ProcessResources: Sendable, Equatable, CustomStringConvertible {
    package struct Descriptor: Sendable, Hashable, CustomStringConvertible {
        package let number: Int32
        /// Its target: `socket:[12345]`, `anon_inode:[eventpoll]`, or a path.
        package let target: String

        package var description: String { "descriptor \(number) \(target)" }
    }

    package struct Thread: Sendable, Hashable, CustomStringConvertible {
        package let identifier: Int32
        package let name: String

        package var description: String { "thread \(identifier) \(name)" }

        /// Identifies the thread. Its name may be set later.
        package static func == (left: Self, right: Self) -> Bool { left.identifier == right.identifier }
        package func hash(into hasher: inout Hasher) { hasher.combine(identifier) }
    }

    package var descriptors: Set<Descriptor>
    package var threads: Set<Thread>

    package static var current: Self {
        // Listing opens a descriptor itself, which is closed before its target is read.
        let descriptors = entries(of: "/proc/self/fd").compactMap { number -> Descriptor? in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)"))
                .map { Descriptor(number: number, target: $0) }
        }
        let threads = entries(of: "/proc/self/task").compactMap { identifier -> Thread? in
            (try? String(contentsOfFile: "/proc/self/task/\(identifier)/comm", encoding: .utf8))
                .map { Thread(identifier: identifier, name: $0.trimmingCharacters(in: .newlines)) }
        }
        return Self(descriptors: Set(descriptors), threads: Set(threads))
    }

    private static func entries(of directory: String) -> [Int32] {
        ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).compactMap { Int32($0) }
    }

    /// The resources that are not in `other`.
    package func subtracting(_ other: Self) -> Self {
        Self(
            descriptors: descriptors.subtracting(other.descriptors), threads: threads.subtracting(other.threads))
    }

    package var isEmpty: Bool { descriptors.isEmpty && threads.isEmpty }

    package var description: String {
        (descriptors.sorted { $0.number < $1.number }.map(\.description)
            + threads.sorted { $0.identifier < $1.identifier }.map(\.description)).joined(separator: ", ")
    }
}
