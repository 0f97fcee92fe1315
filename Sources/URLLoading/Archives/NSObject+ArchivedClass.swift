internal import CLoadingFoundation
internal import Foundation

extension NSObject {
    /// The class that an archive names for this object: Apple's name, which Foundation's archiver takes from it.
    ///
    /// Foundation's `setClassName(_:for:)` is of no use here, since it keeps a name under another key than it looks for.
    /// A subclass of the program's own keeps its name.
    var archivedClass: AnyClass {
        let own: AnyClass = type(of: self)
        // A class is one pointer to its metadata, and so is what comes back.
        return unsafeBitCast(
            clf_class_for_archives(unsafeBitCast(own, to: UnsafeRawPointer.self)), to: AnyClass.self)
    }
}
